# treaty_options: how our own code is compiled. Libraries come in as system includes and are not judged.
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

add_library(treaty_options INTERFACE)
target_compile_features(treaty_options INTERFACE cxx_std_23)
target_compile_options(treaty_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wthread-safety>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${TREATY_WERROR}>>:-Werror>)
# Library assertions: in every debug build and every sanitizer build. Tests have them always (tests.cmake).
target_compile_definitions(treaty_options INTERFACE $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)

# What a precompiled header has to be compiled with, too.
set(treaty_code_generation)
if(TREATY_SANITIZE)
  list(APPEND treaty_code_generation
    -fsanitize=${TREATY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(treaty_options INTERFACE -fsanitize=${TREATY_SANITIZE})
  target_compile_definitions(treaty_options INTERFACE _GLIBCXX_ASSERTIONS)
endif()

if(TREATY_COVERAGE)
  list(APPEND treaty_code_generation -fprofile-instr-generate -fcoverage-mapping)
  target_link_options(treaty_options INTERFACE -fprofile-instr-generate)
endif()
target_compile_options(treaty_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${treaty_code_generation}>)
