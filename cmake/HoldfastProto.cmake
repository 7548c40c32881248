# holdfast_proto(NAME PROTOS …): the static library holdfast_proto_NAME of the C++ that protoc makes of files in proto/.
# It is made in the build folder and included as "FILE.pb.h"; the warnings that it gives are not ours to heed. The
# files say `option optimize_for = LITE_RUNTIME`: nobody here asks a message for its own description.
function(holdfast_proto name)
  cmake_parse_arguments(arg "" "" "PROTOS" ${ARGN})
  set(folder ${CMAKE_BINARY_DIR}/proto/${name})
  file(MAKE_DIRECTORY ${folder})
  set(sources "")
  foreach(proto ${arg_PROTOS})
    get_filename_component(stem ${proto} NAME_WE)
    add_custom_command(OUTPUT ${folder}/${stem}.pb.cc ${folder}/${stem}.pb.h
      COMMAND protobuf::protoc --proto_path=${HOLDFAST_ROOT}/proto --cpp_out=${folder} ${stem}.proto
      DEPENDS ${HOLDFAST_ROOT}/proto/${stem}.proto
      COMMENT "Generating ${stem}.pb.h" VERBATIM)
    list(APPEND sources ${folder}/${stem}.pb.cc ${folder}/${stem}.pb.h)
  endforeach()
  add_library(holdfast_proto_${name} STATIC ${sources})
  target_include_directories(holdfast_proto_${name} SYSTEM PUBLIC ${folder})
  target_link_libraries(holdfast_proto_${name} PUBLIC protobuf::libprotobuf-lite)
  target_compile_options(holdfast_proto_${name} PRIVATE -w)
  if(HOLDFAST_SANITIZE)
    target_compile_options(holdfast_proto_${name} PRIVATE -O0)
  endif()
endfunction()
