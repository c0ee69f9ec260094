# treaty_precompile(target header): compiles a header once, ahead of all files of a target.
#
# CMake's own precompiled headers would do, but for ccache: the bytes of a precompiled header name the folder it was
# made in, so that a fresh clone would find nothing of what another one has compiled. Here ccache looks at a checksum
# of the header's text instead (NAME.pch.sum).
function(treaty_precompile target header)
  set(pch "${PROJECT_BINARY_DIR}/precompiled/${target}.pch")
  string(TOUPPER "${CMAKE_BUILD_TYPE}" configuration)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${configuration}}")
  set(compile "${CMAKE_CXX_COMPILER}" ${flags} ${treaty_code_generation} ${ARGN} -std=c++2b
    -I "${PROJECT_SOURCE_DIR}/src" -x c++-header "${PROJECT_SOURCE_DIR}/${header}")
  set(definitions "-D$<JOIN:$<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>,;-D>")
  add_custom_command(OUTPUT "${pch}" "${pch}.sum"
    COMMAND ${compile} "${definitions}" -Xclang -fno-pch-timestamp -fpch-instantiate-templates
      -MD -MF "${pch}.d" -MT "${pch}" -o "${pch}"
    COMMAND ${compile} "${definitions}" -E -P -o - | sha256sum > "${pch}.sum"
    DEPENDS "${header}" DEPFILE "${pch}.d" COMMAND_EXPAND_LISTS VERBATIM
    COMMENT "Precompiling ${header}")
  target_compile_options(${target} PRIVATE ${ARGN} "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include-pch ${pch}>")
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  set_property(SOURCE ${sources} APPEND PROPERTY OBJECT_DEPENDS "${pch}")
endfunction()
