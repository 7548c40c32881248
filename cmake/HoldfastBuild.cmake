# How everything is compiled: the language, the warnings, the sanitizers, and the helpers that declare a folder.
get_filename_component(HOLDFAST_ROOT ${CMAKE_CURRENT_LIST_DIR}/.. ABSOLUTE)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_CXX_FLAGS_DEBUG "-g1 -O1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2")

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror=return-type
                    -fvisibility=hidden -ffile-prefix-map=${HOLDFAST_ROOT}/=)
# The presets have it on, so that a build or CI with a new warning fails; it is off where another compiler may know more of them.
option(HOLDFAST_WERROR "Fail on a warning" OFF)
if(HOLDFAST_WERROR)
  add_compile_options(-Werror)
endif()

find_program(ccache_program ccache)
if(ccache_program)
  # The sloppiness lets it keep what was compiled with precompiled headers; the rest, together with -ffile-prefix-map, lets
  # another clone of the same sources take it over.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      CCACHE_BASEDIR=${HOLDFAST_ROOT} CCACHE_NOHASHDIR=1 ${ccache_program})
endif()

set(HOLDFAST_SANITIZE "" CACHE STRING "Sanitizers to build with, as for -fsanitize=")
if(HOLDFAST_SANITIZE)
  add_compile_options(-fsanitize=${HOLDFAST_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HOLDFAST_SANITIZE})
  if(HOLDFAST_SANITIZE STREQUAL "thread")
    add_compile_options(-Wno-tsan) # Asio's fences, which TSan does not model
  endif()
endif()

# Most of the time of a build goes into headers that each file includes again, so sources of a folder are compiled several
# at once, but where people edit (`dev`): there each file by itself, which also shows a header that one forgot.
option(HOLDFAST_JOIN "Compile the sources of a folder several at once" OFF)
if(HOLDFAST_JOIN)
  add_compile_options(-Wno-subobject-linkage) # g++ takes the unnamed namespace of a joined source for that of a header
endif()
function(holdfast_join target)
  if(HOLDFAST_JOIN)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
  endif()
endfunction()

# holdfast_alone(SOURCES …): these have names of their own that other files of the folder have too, so they are not joined.
function(holdfast_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# holdfast_folder(NAME [SHELL] SOURCES … USES …): the static library of one folder of src. What is of the shell waits more
# than it computes and includes the heaviest headers: builds with sanitizers do not optimise it, which halves their time.
function(holdfast_folder name)
  cmake_parse_arguments(arg "SHELL" "" "SOURCES;USES" ${ARGN})
  add_library(holdfast_${name} STATIC ${arg_SOURCES})
  if(arg_SHELL AND HOLDFAST_SANITIZE)
    target_compile_options(holdfast_${name} PRIVATE -O0)
  endif()
  holdfast_join(holdfast_${name})
  target_include_directories(holdfast_${name} PUBLIC ${HOLDFAST_ROOT}/src)
  target_link_libraries(holdfast_${name} PUBLIC ${arg_USES})
endfunction()

# holdfast_test_program(NAME [EXCLUDE_FROM_ALL] SOURCES …): what tests are compiled into. The headers that nearly all of them
# include are compiled once for all, which saves a third of their time.
function(holdfast_test_program name)
  add_executable(${name} ${ARGN})
  holdfast_compiled_as_test(${name})
  target_precompile_headers(${name} REUSE_FROM holdfast_test_headers)
endfunction()

function(holdfast_compiled_as_test name)
  # Assertions take longest to optimise and least to run, and it is the other code whose behaviour must be defined.
  target_compile_options(${name} PRIVATE -O0)
  if(HOLDFAST_SANITIZE)
    target_compile_options(${name} PRIVATE -fno-sanitize=undefined)
  endif()
  holdfast_join(${name})
  # The same for all, though only some of the libraries ask for -pthread; the other one is for ccache.
  target_compile_options(${name} PRIVATE -pthread -fpch-preprocess)
  target_include_directories(${name} PRIVATE ${HOLDFAST_ROOT}/tests)
  target_link_libraries(${name} PRIVATE GTest::gtest)
endfunction()

function(holdfast_declare_test_headers)
  add_executable(holdfast_test_headers EXCLUDE_FROM_ALL ${HOLDFAST_ROOT}/tests/support/headers.cpp)
  holdfast_compiled_as_test(holdfast_test_headers)
  target_precompile_headers(holdfast_test_headers PRIVATE <gtest/gtest.h> <algorithm> <chrono> <deque> <functional> <map>
                            <memory> <optional> <set> <span> <string> <thread> <unordered_map> <variant> <vector>)
endfunction()

# holdfast_test(NAME SOURCES … USES … LABELS …): one GoogleTest binary, one CTest entry.
# The label `threads` adds it to the TSan run; `release_only` keeps it out of the ASan run. What a run does not run is not
# built for it.
function(holdfast_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;USES;LABELS" ${ARGN})
  set(excluded)
  if((HOLDFAST_SANITIZE STREQUAL "thread" AND NOT "threads" IN_LIST arg_LABELS)
     OR (HOLDFAST_SANITIZE AND "release_only" IN_LIST arg_LABELS))
    set(excluded EXCLUDE_FROM_ALL)
  endif()
  holdfast_test_program(${name} ${excluded} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_USES} GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
  holdfast_test_properties(${name} "${arg_TIMEOUT}" "${arg_LABELS}")
  set_tests_properties(${name} PROPERTIES PROCESSORS 4) # of the places that scripts/test has: it computes, where scripts wait
endfunction()

# holdfast_script_test(NAME COMMAND … LABELS …): a test that is a script; it finds the build by HOLDFAST_BIN and HOLDFAST_BUILD.
function(holdfast_script_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "COMMAND;LABELS" ${ARGN})
  add_test(NAME ${name} COMMAND ${arg_COMMAND} WORKING_DIRECTORY ${HOLDFAST_ROOT})
  holdfast_test_properties(${name} "${arg_TIMEOUT}" "${arg_LABELS}")
endfunction()

function(holdfast_test_properties name timeout labels)
  if(NOT timeout)
    set(timeout 300)
  endif()
  # Those that may take longest begin first, so that none is left over at the end.
  set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout} COST ${timeout} LABELS "${labels}"
    ENVIRONMENT "HOLDFAST_BIN=$<TARGET_FILE:holdfast_cli>;HOLDFAST_BUILD=${CMAKE_BINARY_DIR};HOLDFAST_SOURCE=${HOLDFAST_ROOT}")
endfunction()
