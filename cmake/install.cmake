# What `make install` puts in place: the program, and the library with its public headers and a CMake package.
install(TARGETS treaty RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS treaty_core ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The public API: these headers and no others. A public header includes only public headers (tests/install_test.py).
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS cmake/public_headers.txt)
file(STRINGS cmake/public_headers.txt public_headers REGEX "^treaty/")
foreach(header IN LISTS public_headers)
  get_filename_component(folder "${header}" DIRECTORY)
  install(FILES "src/${header}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/${folder}")
endforeach()

# find_package(treaty) gives the target treaty::treaty.
get_target_property(treaty_definitions treaty_core INTERFACE_COMPILE_DEFINITIONS)
configure_file(cmake/treaty-config.cmake.in "${PROJECT_BINARY_DIR}/treaty-config.cmake" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/treaty-config.cmake" DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/treaty)
