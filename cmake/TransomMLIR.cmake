# Helpers for the folders that know MLIR: tablegen and libraries with one shared precompiled header.
find_package(MLIR 19.1 REQUIRED CONFIG PATHS /usr/lib/llvm-19/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
set(LLVM_BINARY_TOOLS ${LLVM_TOOLS_BINARY_DIR})

add_library(transom-mlir-pch STATIC ${CMAKE_SOURCE_DIR}/cmake/Pch.cpp)
target_include_directories(transom-mlir-pch SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_include_directories(transom-mlir-pch PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/runtime/include ${CMAKE_BINARY_DIR})
target_compile_definitions(transom-mlir-pch PUBLIC __STDC_CONSTANT_MACROS __STDC_FORMAT_MACROS __STDC_LIMIT_MACROS)
target_compile_options(transom-mlir-pch PUBLIC -fno-rtti -Wno-unused-parameter -Wno-deprecated-declarations PRIVATE -Xclang -fno-pch-timestamp ${TRANSOM_HARDENING_FLAGS})
target_precompile_headers(transom-mlir-pch PRIVATE ${CMAKE_SOURCE_DIR}/cmake/Pch.h)
# The target whose precompiled header the libraries of a folder use.
set(TRANSOM_MLIR_PCH transom-mlir-pch)

# transom_mlir_library(NAME SOURCES... [LINK libs...] [DEPENDS tablegen-targets...])
function(transom_mlir_library name)
  cmake_parse_arguments(ARG "GROUPED" "" "LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  if(ARG_GROUPED)
    transom_grouped_sources(${name})
  endif()
  target_link_libraries(${name} PUBLIC transom-mlir-pch MLIR LLVM ${ARG_LINK})
  target_compile_options(${name} PRIVATE -Xclang -fno-pch-timestamp ${TRANSOM_HARDENING_FLAGS})
  target_precompile_headers(${name} REUSE_FROM ${TRANSOM_MLIR_PCH})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# transom_mlir_tool(NAME SOURCES...): a program that is linked to the shared library of the compiler, so that plug-ins which it
# loads share the dialects' types with it.
function(transom_mlir_tool name)
  transom_mlir_library(${name}-objects ${ARGN})
  add_executable(${name} $<TARGET_OBJECTS:${name}-objects>)
  set_target_properties(${name} PROPERTIES
    LINKER_LANGUAGE CXX
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};${LLVM_LIBRARY_DIRS}")
  target_link_libraries(${name} PRIVATE ${name}-objects transom-compiler)
endfunction()

# transom_tablegen(TARGET TD_FILE OUT1 FLAG1 [OUT2 FLAG2 ...]): generates the headers into the mirrored build folder.
function(transom_tablegen target td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  set(args ${ARGN})
  while(args)
    list(POP_FRONT args out flags)
    string(REPLACE " " ";" flags "${flags}")
    mlir_tablegen(${out} ${flags} -I ${CMAKE_SOURCE_DIR} -I ${MLIR_INCLUDE_DIRS})
  endwhile()
  set(TABLEGEN_OUTPUT ${TABLEGEN_OUTPUT} PARENT_SCOPE)
  add_public_tablegen_target(${target})
endfunction()
