# Installs libholdfast: the shared library (component `library`), and what it takes to build against it, which are the
# headers, a CMake package and a pkg-config file (component `development`).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(holdfast_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/holdfast)

install(TARGETS holdfast_shared EXPORT holdfastTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/holdfast DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(EXPORT holdfastTargets NAMESPACE holdfast:: DESTINATION ${holdfast_package_dir} COMPONENT development)

configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/holdfastConfig.cmake.in
  ${CMAKE_BINARY_DIR}/holdfastConfig.cmake INSTALL_DESTINATION ${holdfast_package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/holdfastConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/holdfastConfig.cmake ${CMAKE_BINARY_DIR}/holdfastConfigVersion.cmake
  DESTINATION ${holdfast_package_dir} COMPONENT development)

# The prefix is found from where the file lies, so that an installed tree may be moved.
file(RELATIVE_PATH holdfast_prefix_from_pc
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${CMAKE_SOURCE_DIR}/cmake/holdfast.pc.in ${CMAKE_BINARY_DIR}/holdfast.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/holdfast.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
