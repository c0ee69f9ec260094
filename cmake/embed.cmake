# treaty_embed(target symbol file): puts the bytes of a file into read-only data of a target.
#
# C++ sees them by TREATY_ASSET(symbol), in base/files.h.
# A zero byte follows the end, so that the data is also a C string. A changed file is embedded again.
function(treaty_embed target symbol file)
  get_filename_component(path "${file}" ABSOLUTE)
  set(assembly "${CMAKE_CURRENT_BINARY_DIR}/embed/${symbol}.S")
  file(CONFIGURE OUTPUT "${assembly}" @ONLY CONTENT [[
.section .rodata
.global @symbol@_begin
.global @symbol@_end
@symbol@_begin:
.incbin "@path@"
@symbol@_end:
.byte 0
.section .note.GNU-stack,"",%progbits
]])
  set_source_files_properties("${assembly}" PROPERTIES OBJECT_DEPENDS "${path}")
  target_sources(${target} PRIVATE "${assembly}")
endfunction()
