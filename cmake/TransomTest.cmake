# Functions that add tests: unit tests, lit suites, scripts. Each test runs under test/unchanged, with a time limit ten times
# its allowed time on an idle core, and, without sanitizers (which reserve address space), a memory limit.
find_package(GTest REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

set(TRANSOM_TEST_MEMORY_MB 4096 CACHE STRING "Address space of one test in MiB")
set(TRANSOM_TEST_LIMITED "")
if(NOT TRANSOM_SANITIZE)
  set(TRANSOM_TEST_LIMITED ${CMAKE_SOURCE_DIR}/test/limited ${TRANSOM_TEST_MEMORY_MB})
endif()
# A test takes at most 40 s on an idle core.
set(TRANSOM_TEST_TIMEOUT 400)
set(TRANSOM_UNCHANGED ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/test/unchanged)

# The dependencies for a test that runs the program transom on golden models and examples.
set(TRANSOM_NEEDS_TOOL ${CMAKE_BINARY_DIR}/bin/transom ${CMAKE_BINARY_DIR}/lib
  ${CMAKE_BINARY_DIR}/test/bin/instruction-sets ${CMAKE_SOURCE_DIR}/test/goldens
  ${CMAKE_SOURCE_DIR}/examples)

# The programs for the tests labelled 'threads': the only targets that a ThreadSanitizer build needs.
add_custom_target(thread-tests)

# transom_test(NAME COMMAND args... [NEEDS path...] [TIMEOUT s] [MEMORY_MB n] [LABELS l...] [SERIAL] [LONG]): one ctest test
# that runs a command; the first argument may be a target. NEEDS: dependencies other than the command's files, see
# test/unchanged; by default the whole tree. MEMORY_MB 0 disables the memory limit. LONG: only `tools/check --long` runs it.
function(transom_test name)
  cmake_parse_arguments(ARG "SERIAL;LONG" "TIMEOUT;MEMORY_MB" "COMMAND;LABELS;NEEDS" ${ARGN})
  list(POP_FRONT ARG_COMMAND program)
  if(TARGET ${program})
    set(program $<TARGET_FILE:${program}>)
  endif()
  set(limited ${TRANSOM_TEST_LIMITED})
  if(DEFINED ARG_MEMORY_MB)
    if(limited AND ARG_MEMORY_MB GREATER 0)
      set(limited ${CMAKE_SOURCE_DIR}/test/limited ${ARG_MEMORY_MB})
    else()
      set(limited "")
    endif()
  endif()
  if(NOT DEFINED ARG_TIMEOUT)
    set(ARG_TIMEOUT ${TRANSOM_TEST_TIMEOUT})
  endif()
  if(ARG_LONG)
    list(APPEND ARG_LABELS long)
  endif()
  set(needs "")
  foreach(path ${ARG_NEEDS})
    list(APPEND needs --needs ${path})
  endforeach()
  add_test(NAME ${name} COMMAND ${TRANSOM_UNCHANGED} ${name} ${needs} -- ${limited} ${program} ${ARG_COMMAND})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}" SKIP_RETURN_CODE 77
    ENVIRONMENT "TRANSOM_SOURCE_DIR=${CMAKE_SOURCE_DIR};TRANSOM_BINARY_DIR=${CMAKE_BINARY_DIR}")
  if(ARG_SERIAL)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()

# transom_quick_code(NAME): models that the test compiles are not about the code: it is made quickly, for one instruction set.
function(transom_quick_code name)
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT TRANSOM_OPT_LEVEL=0 TRANSOM_TARGET=x86-64-v3)
endfunction()

# transom_unit_test(NAME sources... LINK libs... [MLIR] [NEEDS path...] [TIMEOUT s] [MEMORY_MB n] [LABELS l...] [SERIAL] [LONG]
# [SHARDS n [EACH_TIME i...]]): a gtest program and its ctest test, or n tests (NAME, NAME-2, ...) with some cases each, to run
# in parallel. With EACH_TIME, only the tests with these numbers run each time, the others with `tools/check --long`. They need
# the golden models, the examples and the data next to their sources. MLIR compiles the sources with the project's precompiled
# header. A build without the compiler omits tests that link to the compiler's libraries.
function(transom_unit_test name)
  cmake_parse_arguments(ARG "MLIR;SERIAL;LONG" "TIMEOUT;MEMORY_MB;SHARDS" "LINK;LABELS;NEEDS;EACH_TIME" ${ARGN})
  foreach(library ${ARG_LINK})
    if(library MATCHES "^transom" AND NOT TARGET ${library})
      if(TRANSOM_COMPILER)
        message(FATAL_ERROR "unit test '${name}' links to '${library}', which is no target")
      endif()
      return()
    endif()
  endforeach()
  if(ARG_MLIR AND NOT TRANSOM_COMPILER)
    return()
  endif()
  if(ARG_MLIR)
    transom_mlir_library(${name}-objects ${ARG_UNPARSED_ARGUMENTS} LINK ${ARG_LINK} GTest::gtest)
    # The precompiled header already saves most compile time.
    set_target_properties(${name}-objects PROPERTIES UNITY_BUILD OFF)
    add_executable(${name} $<TARGET_OBJECTS:${name}-objects>)
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
    target_link_libraries(${name} PRIVATE ${name}-objects GTest::gtest_main)
  else()
    add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/runtime/include)
    target_compile_options(${name} PRIVATE ${TRANSOM_CXX_FLAGS})
    target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest GTest::gtest_main)
  endif()
  target_link_libraries(${name} PRIVATE Threads::Threads)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test/bin)
  if("threads" IN_LIST ARG_LABELS)
    add_dependencies(thread-tests ${name})
  endif()
  set(options LABELS unit ${ARG_LABELS}
    NEEDS ${CMAKE_SOURCE_DIR}/test/goldens ${CMAKE_SOURCE_DIR}/examples ${CMAKE_CURRENT_SOURCE_DIR} ${ARG_NEEDS})
  foreach(option TIMEOUT MEMORY_MB)
    if(DEFINED ARG_${option})
      list(APPEND options ${option} ${ARG_${option}})
    endif()
  endforeach()
  foreach(option SERIAL LONG)
    if(ARG_${option})
      list(APPEND options ${option})
    endif()
  endforeach()
  if(NOT ARG_SHARDS)
    transom_test(${name} COMMAND $<TARGET_FILE:${name}> ${options})
    return()
  endif()
  set(test ${name})
  foreach(shard RANGE 1 ${ARG_SHARDS})
    math(EXPR index "${shard} - 1")
    set(long "")
    if(ARG_EACH_TIME AND NOT shard IN_LIST ARG_EACH_TIME)
      set(long LONG)
    endif()
    transom_test(${test} COMMAND $<TARGET_FILE:${name}> ${options} ${long})
    set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT GTEST_TOTAL_SHARDS=${ARG_SHARDS} GTEST_SHARD_INDEX=${index})
    math(EXPR next "${shard} + 1")
    set(test ${name}-${next})
  endforeach()
endfunction()

# transom_lit_suites(): one ctest test 'lit-FOLDER' for each folder below this CMakeLists that directly contains lit tests, with
# '-' instead of '/'.
function(transom_lit_suites)
  set(LLVM_BINARY_TOOLS /usr/lib/llvm-19/bin)
  find_file(TRANSOM_LIT lit.py PATHS /usr/lib/llvm-19/build/utils/lit NO_DEFAULT_PATH REQUIRED)
  configure_file(${CMAKE_CURRENT_SOURCE_DIR}/lit.site.cfg.py.in ${CMAKE_CURRENT_BINARY_DIR}/lit.site.cfg.py @ONLY)
  file(GLOB_RECURSE files RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS *.mlir *.test)
  set(folders "")
  foreach(file ${files})
    if(NOT file MATCHES "(^|/)([Ii]nputs|goldens)/")
      get_filename_component(folder ${file} DIRECTORY)
      list(APPEND folders ${folder})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder ${folders})
    string(REPLACE "/" "-" name ${folder})
    # lit runs the tests in the folder itself; subfolders are separate suites.
    file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.mlir ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.test)
    list(TRANSFORM tests REPLACE "^${CMAKE_CURRENT_SOURCE_DIR}" "${CMAKE_CURRENT_BINARY_DIR}")
    transom_test(lit-${name} COMMAND ${Python3_EXECUTABLE} ${TRANSOM_LIT} -sv -j 1 ${tests}
      NEEDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder} ${CMAKE_CURRENT_SOURCE_DIR}/lit.cfg.py ${CMAKE_CURRENT_BINARY_DIR}/lit.site.cfg.py
        ${CMAKE_BINARY_DIR}/bin/transom-opt ${CMAKE_BINARY_DIR}/bin/transom-reduce
        ${CMAKE_BINARY_DIR}/bin/transom-lsp-server ${TRANSOM_NEEDS_TOOL}
      MEMORY_MB 0 LABELS lit)
  endforeach()
endfunction()
