# The code that has rules to switch off (base/mutant.h), once more and all in one library, for the tests that switch them
# off. What ships has no such switch.
set(mutable_sources)
foreach(folder base lease store_memory store_quorum log log_state authority server_replicated sim services_keys)
  get_target_property(folder_sources holdfast_${folder} SOURCES)
  get_target_property(folder_dir holdfast_${folder} SOURCE_DIR)
  list(TRANSFORM folder_sources PREPEND ${folder_dir}/)
  list(APPEND mutable_sources ${folder_sources})
endforeach()
list(APPEND mutable_sources ${HOLDFAST_ROOT}/src/services/candidate.cpp)
add_library(holdfast_mutable STATIC EXCLUDE_FROM_ALL ${mutable_sources})
target_include_directories(holdfast_mutable PUBLIC ${HOLDFAST_ROOT}/src)
target_compile_definitions(holdfast_mutable PUBLIC HOLDFAST_MUTANTS)
target_link_libraries(holdfast_mutable PUBLIC PkgConfig::re2 holdfast_proto_log Boost::json)
