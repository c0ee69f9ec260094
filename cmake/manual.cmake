# Completions for bash, zsh and fish, and the manual page: written by the program that they describe.
set(manual "${PROJECT_BINARY_DIR}/manual")
set(manual_files "${manual}/treaty.bash" "${manual}/_treaty" "${manual}/treaty.fish" "${manual}/treaty.1")
add_custom_command(OUTPUT ${manual_files}
  COMMAND "${CMAKE_COMMAND}" -E make_directory "${manual}"
  COMMAND treaty completion bash > "${manual}/treaty.bash"
  COMMAND treaty completion zsh > "${manual}/_treaty"
  COMMAND treaty completion fish > "${manual}/treaty.fish"
  COMMAND treaty man > "${manual}/treaty.1"
  DEPENDS treaty COMMENT "Writing completions and the manual page" VERBATIM)
add_custom_target(manual DEPENDS ${manual_files})

install(FILES "${manual}/treaty.bash" RENAME treaty
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES "${manual}/_treaty" DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES "${manual}/treaty.fish" DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES "${manual}/treaty.1" DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
