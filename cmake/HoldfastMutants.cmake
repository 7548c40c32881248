# The code that has rules to switch off (base/mutant.h), once more and all in one library, for the tests that switch them
# off. What ships has no such switch.
set(mutable_sources)
foreach(folder base lease store_memory store_remote store_quorum store_engine log log_state authority server_replicated sim services_keys services_discovery front)
  get_target_property(folder_sources holdfast_${folder} SOURCES)
  get_target_property(folder_dir holdfast_${folder} SOURCE_DIR)
  list(TRANSFORM folder_sources PREPEND ${folder_dir}/)
  list(APPEND mutable_sources ${folder_sources})
endforeach()
list(APPEND mutable_sources ${HOLDFAST_ROOT}/src/services/agreed_state.cpp ${HOLDFAST_ROOT}/src/services/candidate.cpp ${HOLDFAST_ROOT}/src/services/glob.cpp)
add_library(holdfast_mutable STATIC EXCLUDE_FROM_ALL ${mutable_sources})
target_include_directories(holdfast_mutable PUBLIC ${HOLDFAST_ROOT}/src)
target_compile_definitions(holdfast_mutable PUBLIC HOLDFAST_MUTANTS)
target_link_libraries(holdfast_mutable PUBLIC PkgConfig::re2 holdfast_proto_log holdfast_proto_notice holdfast_wire_record holdfast_wire_discovery holdfast_identity Boost::json
                      PkgConfig::utf8proc)

# holdfast_mutants(NAME SOURCES … USES …): tests of which each can be run with a rule switched off.
function(holdfast_mutants name)
  cmake_parse_arguments(arg "" "" "SOURCES;USES" ${ARGN})
  if(HOLDFAST_SANITIZE)
    return()
  endif()
  holdfast_test_program(${name} ${arg_SOURCES} ${HOLDFAST_ROOT}/tests/support/mutants_main.cpp)
  target_link_libraries(${name} PRIVATE holdfast_mutable ${arg_USES})
endfunction()

# holdfast_mutant(TESTS RULE NOTICED_BY): with this rule switched off, those of the tests must fail.
function(holdfast_mutant tests rule noticed_by)
  set(name ${tests}_${rule})
  add_test(NAME ${name} COMMAND ${tests} --gtest_filter=${noticed_by})
  set_tests_properties(${name} PROPERTIES ENVIRONMENT HOLDFAST_MUTANT=${rule} WILL_FAIL TRUE TIMEOUT 300 LABELS release_only)
endfunction()
