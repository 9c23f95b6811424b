# Flags and helpers for every folder; independent of LLVM.
find_package(Threads REQUIRED)
find_package(nlohmann_json REQUIRED)

find_program(TRANSOM_CCACHE ccache)
if(TRANSOM_CCACHE)
  # A precompiled header is part of the hash by content, not by time stamp.
  set(ENV{CCACHE_SLOPPINESS} pch_defines,time_macros)
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${TRANSOM_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})
endif()

set(TRANSOM_CXX_FLAGS -Wall -Wextra -Wno-unused-parameter -fvisibility-inlines-hidden)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_link_options(-fuse-ld=lld-19)
endif()
if(TRANSOM_SANITIZE)
  # A library's sources are one translation unit: checks in header templates are compiled once, not for each source.
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 0)
  add_compile_options(-fsanitize=${TRANSOM_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=${TRANSOM_SANITIZE})
endif()

# Build hardening, see SECURITY.md. Sanitizers have their own checks. _FORTIFY_SOURCE needs optimization; folders compiled
# without it (the tests) clear the variable.
set(TRANSOM_HARDENING_FLAGS "")
include(CheckPIESupported)
check_pie_supported()
if(NOT TRANSOM_SANITIZE)
  set(TRANSOM_HARDENING_FLAGS -fstack-protector-strong -D_GLIBCXX_ASSERTIONS
    $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE> $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-D_FORTIFY_SOURCE=3>)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND TRANSOM_HARDENING_FLAGS -fcf-protection=full)
    # The start files in a C library may lack the shadow stack mark, although they work with shadow stacks. The linker sets the
    # indirect branch mark if all its inputs have it.
    include(CheckLinkerFlag)
    check_linker_flag(CXX -Wl,-z,shstk TRANSOM_HAS_SHSTK)
    if(TRANSOM_HAS_SHSTK)
      add_link_options(-Wl,-z,shstk)
    endif()
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    list(APPEND TRANSOM_HARDENING_FLAGS -mbranch-protection=standard)
  endif()
  add_link_options(-Wl,-z,relro,-z,now)
endif()

# transom_runpath(TARGET FOLDER...): where the dynamic loader looks for the target's libraries, in the build tree as in an
# installed one. Otherwise CMake reserves room for the installed path by empty parts in the build tree's path, for which the loader
# searches the current folder.
function(transom_runpath target)
  set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "${ARGN}")
endfunction()

# transom_grouped_sources(NAME): combines six library sources into one translation unit. For libraries that spend most compile
# time on headers.
function(transom_grouped_sources name)
  if(NOT CMAKE_UNITY_BUILD)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6 UNITY_BUILD_CODE_AFTER_INCLUDE "#undef DEBUG_TYPE")
  endif()
endfunction()

# transom_library(NAME [GROUPED] SOURCES... [LINK libs...]): a static library in the project, includes are root-relative.
function(transom_library name)
  cmake_parse_arguments(ARG "GROUPED" "" "LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  if(ARG_GROUPED)
    transom_grouped_sources(${name})
  endif()
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/runtime/include)
  target_compile_options(${name} PRIVATE ${TRANSOM_CXX_FLAGS} ${TRANSOM_HARDENING_FLAGS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
endfunction()
