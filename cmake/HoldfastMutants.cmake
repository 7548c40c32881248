# The code that has rules to switch off, once more and with tests/mutants/mutants.patch applied, all in one library, for the
# tests that switch them off. What ships has no such switch. scripts/mutants edits the patch.
set(mutants_patch ${HOLDFAST_ROOT}/tests/mutants/mutants.patch)
set(mutants_dir ${CMAKE_BINARY_DIR}/mutants)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${mutants_patch})
file(STRINGS ${mutants_patch} patched REGEX "^[+][+][+] b/")
list(TRANSFORM patched REPLACE "^[+][+][+] b/" "")
list(TRANSFORM patched PREPEND ${HOLDFAST_ROOT}/ OUTPUT_VARIABLE unpatched_files)
list(TRANSFORM patched PREPEND ${mutants_dir}/ OUTPUT_VARIABLE patched_files)
add_custom_command(
  OUTPUT ${mutants_dir}/applied
  BYPRODUCTS ${patched_files}
  COMMAND ${HOLDFAST_ROOT}/scripts/mutants apply ${mutants_dir}
  DEPENDS ${mutants_patch} ${HOLDFAST_ROOT}/scripts/mutants ${unpatched_files}
  COMMENT "Applying tests/mutants/mutants.patch"
  VERBATIM)
add_custom_target(holdfast_mutants_applied DEPENDS ${mutants_dir}/applied)

add_library(holdfast_mutable STATIC EXCLUDE_FROM_ALL)
# What the patch does not touch is found where it is.
target_include_directories(holdfast_mutable PUBLIC ${mutants_dir}/src ${mutants_dir} ${HOLDFAST_ROOT}/src ${HOLDFAST_ROOT}
                           ${HOLDFAST_ROOT}/tests)
target_compile_definitions(holdfast_mutable PUBLIC HOLDFAST_MUTANTS)
target_link_libraries(holdfast_mutable PUBLIC PkgConfig::re2 holdfast_proto_log holdfast_proto_notice holdfast_codec_record
                      holdfast_discovery_protocol holdfast_discovery_identity Boost::json OpenSSL::Crypto PkgConfig::utf8proc)
add_dependencies(holdfast_mutable holdfast_mutants_applied)

# holdfast_mutable_folder(NAME): the folder's sources as part of that library.
function(holdfast_mutable_folder folder)
  get_target_property(folder_dir holdfast_${folder} SOURCE_DIR)
  get_target_property(folder_sources holdfast_${folder} SOURCES)
  file(RELATIVE_PATH folder_path ${HOLDFAST_ROOT} ${folder_dir})
  set(sources)
  foreach(source ${folder_sources})
    set(path ${folder_dir}/${source})
    if("${folder_path}/${source}" IN_LIST patched)
      set(path ${mutants_dir}/${folder_path}/${source})
    endif()
    list(APPEND sources ${path})
    # What is not joined there is not joined here.
    get_source_file_property(alone ${folder_dir}/${source} DIRECTORY ${folder_dir} SKIP_UNITY_BUILD_INCLUSION)
    if(alone)
      holdfast_alone(${path})
    endif()
  endforeach()
  set(part holdfast_mutable_${folder})
  add_library(${part} OBJECT EXCLUDE_FROM_ALL ${sources})
  holdfast_join(${part})
  foreach(property INCLUDE_DIRECTORIES COMPILE_DEFINITIONS LINK_LIBRARIES)
    set_property(TARGET ${part} PROPERTY ${property} $<TARGET_PROPERTY:holdfast_mutable,${property}>)
  endforeach()
  # The patch inserts calls only: no source has to include mutant() for them.
  target_compile_options(${part} PRIVATE -include ${HOLDFAST_ROOT}/tests/mutants/mutant.h)
  add_dependencies(${part} holdfast_mutants_applied)
  target_sources(holdfast_mutable PRIVATE $<TARGET_OBJECTS:${part}>)
endfunction()
foreach(folder base lease auth store_memory store_cas store_quorum consensus election agreed authority sim keys
        keys_controller discovery_directory server_front supervise)
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
  set_tests_properties(${name} PROPERTIES ENVIRONMENT HOLDFAST_MUTANT=${rule} WILL_FAIL TRUE TIMEOUT 300 PROCESSORS 4 LABELS release_only)
endfunction()
