# The .deb of the server: binary, systemd unit, man page, completions, documents. `make package` runs CPack with it.
include(GNUInstallDirs)

install(TARGETS holdfast_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT server)
install(FILES packaging/holdfast.service packaging/holdfast-drone.service DESTINATION lib/systemd/system COMPONENT server)
install(FILES packaging/holdfast.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT server)
# The completions are made along with the binary, by itself (src/cli).
install(FILES ${CMAKE_BINARY_DIR}/completions/holdfast COMPONENT server
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${CMAKE_BINARY_DIR}/completions/_holdfast COMPONENT server
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${CMAKE_BINARY_DIR}/completions/holdfast.fish COMPONENT server
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES LICENSE RENAME copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/holdfast COMPONENT server)
install(FILES README.md CHANGELOG.md docs/operations.md docs/http-api.md docs/semantics.md
        DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/holdfast COMPONENT server)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME holdfast)
set(CPACK_PACKAGE_VENDOR "The Holdfast project")
set(CPACK_PACKAGE_CONTACT "The Holdfast project <holdfast@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "server of leases, its command line and supervisor")
set(CPACK_PACKAGE_DESCRIPTION
    "Holdfast hands out leases: the right to be the one that does something, for a limited time, with a fencing token as proof.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)

# Only the server's files; the library is installed from the source tree.
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL server)
set(CPACK_DEBIAN_SERVER_PACKAGE_NAME holdfast)
set(CPACK_DEBIAN_SERVER_FILE_NAME DEB-DEFAULT)
set(CPACK_COMPONENT_SERVER_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION}")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_SERVER_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/packaging/deb/postinst
    ${CMAKE_SOURCE_DIR}/packaging/deb/prerm ${CMAKE_SOURCE_DIR}/packaging/deb/postrm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
