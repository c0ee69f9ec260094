# treaty_options: how our own code is compiled. Libraries come in as system includes and are not judged.
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

add_library(treaty_options INTERFACE)
target_compile_features(treaty_options INTERFACE cxx_std_23)
target_compile_options(treaty_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${TREATY_WERROR}>>:-Werror>)
target_compile_definitions(treaty_options INTERFACE $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)

if(TREATY_SANITIZE)
  target_compile_options(treaty_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${TREATY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer>)
  target_link_options(treaty_options INTERFACE -fsanitize=${TREATY_SANITIZE})
endif()

if(TREATY_COVERAGE)
  target_compile_options(treaty_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fprofile-instr-generate -fcoverage-mapping>)
  target_link_options(treaty_options INTERFACE -fprofile-instr-generate)
endif()
