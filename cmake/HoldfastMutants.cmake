# The code that has rules to switch off (base/mutant.h), once more and all in one library, for the tests that switch them
# off. What ships has no such switch.
add_library(holdfast_mutable STATIC EXCLUDE_FROM_ALL)
target_include_directories(holdfast_mutable PUBLIC ${HOLDFAST_ROOT}/src ${HOLDFAST_ROOT})
target_compile_definitions(holdfast_mutable PUBLIC HOLDFAST_MUTANTS)
target_link_libraries(holdfast_mutable PUBLIC PkgConfig::re2 holdfast_proto_log holdfast_proto_notice holdfast_codec_record holdfast_discovery_protocol holdfast_discovery_identity Boost::json
                      PkgConfig::utf8proc)

# holdfast_mutable_folder(NAME [SOURCES …]): the folder's sources, or those of them, as part of that library.
function(holdfast_mutable_folder folder)
  get_target_property(folder_dir holdfast_${folder} SOURCE_DIR)
  set(folder_sources ${ARGN})
  if(NOT folder_sources)
    get_target_property(folder_sources holdfast_${folder} SOURCES)
  endif()
  list(TRANSFORM folder_sources PREPEND ${folder_dir}/)
  foreach(source ${folder_sources}) # what is not joined there is not joined here
    get_source_file_property(alone ${source} DIRECTORY ${folder_dir} SKIP_UNITY_BUILD_INCLUSION)
    if(alone)
      holdfast_alone(${source})
    endif()
  endforeach()
  set(part holdfast_mutable_${folder})
  add_library(${part} OBJECT EXCLUDE_FROM_ALL ${folder_sources})
  holdfast_join(${part})
  foreach(property INCLUDE_DIRECTORIES COMPILE_DEFINITIONS LINK_LIBRARIES)
    set_property(TARGET ${part} PROPERTY ${property} $<TARGET_PROPERTY:holdfast_mutable,${property}>)
  endforeach()
  target_sources(holdfast_mutable PRIVATE $<TARGET_OBJECTS:${part}>)
endfunction()
foreach(folder base lease store_memory store_cas store_quorum consensus election agreed authority sim keys_controller discovery_directory server_front supervise)
  holdfast_mutable_folder(${folder})
endforeach()

# holdfast_mutants(NAME [MAIN …] SOURCES … USES …): tests of which each can be run with a rule switched off. Their main() may be
# their own, for tests that start themselves as other processes.
function(holdfast_mutants name)
  cmake_parse_arguments(arg "" "MAIN" "SOURCES;USES" ${ARGN})
  if(HOLDFAST_SANITIZE)
    return()
  endif()
  if(NOT arg_MAIN)
    set(arg_MAIN ${HOLDFAST_ROOT}/tests/support/mutants_main.cpp)
  endif()
  holdfast_test_program(${name} ${arg_SOURCES} ${arg_MAIN})
  target_link_libraries(${name} PRIVATE holdfast_mutable ${arg_USES})
endfunction()

# holdfast_mutant(TESTS RULE NOTICED_BY): with this rule switched off, those of the tests must fail.
function(holdfast_mutant tests rule noticed_by)
  set(name ${tests}_${rule})
  add_test(NAME ${name} COMMAND ${tests} --gtest_filter=${noticed_by})
  set_tests_properties(${name} PROPERTIES ENVIRONMENT HOLDFAST_MUTANT=${rule} WILL_FAIL TRUE TIMEOUT 300 PROCESSORS 2 LABELS release_only)
endfunction()
