# treaty_tests (all unit tests in one program), the layer check and the whole-binary tests.
find_package(doctest REQUIRED)
find_package(rapidcheck REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" src/treaty/*_test.cpp)
file(GLOB testing_sources CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" src/treaty/testing/*.cpp src/treaty/testing/*/*.cpp)
list(APPEND test_sources ${testing_sources})
list(REMOVE_DUPLICATES test_sources)
add_executable(treaty_tests ${test_sources})
# Only for those who read files of the tree: what names its folder is compiled anew in every clone.
set_property(SOURCE src/treaty/config/load_test.cpp src/treaty/testing/readme_test.cpp src/treaty/testing/transcripts.cpp
  src/treaty/testing/vectors.cpp APPEND PROPERTY COMPILE_DEFINITIONS TREATY_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
target_link_libraries(treaty_tests PRIVATE treaty_core doctest::doctest rapidcheck)
# A test that reads a value that is not there aborts, in a release build too. The definition does not change the ABI,
# so that the library is the one that is shipped.
target_compile_definitions(treaty_tests PRIVATE _GLIBCXX_ASSERTIONS)
# Tests are compiled once and run once: what optimising them would cost is never earned back.
treaty_precompile(treaty_tests src/treaty/testing/precompiled.h -O0)
# In these folders, tests call their fixtures by the same name, on purpose.
treaty_unity(treaty_tests "/bridge$|/machines$|/protocols$" ${test_sources})

# A disk that fails on command, for tests of the whole binary. Never instrumented: it is preloaded.
add_library(disk_faults MODULE tests/disk_faults/disk_faults.c)
target_compile_options(disk_faults PRIVATE -Wall -Wextra -O2)
target_link_libraries(disk_faults PRIVATE Threads::Threads)

# The examples in C++, as programs that tests run: build/PRESET/examples/NAME.
file(GLOB examples CONFIGURE_DEPENDS examples/*/*.cpp)
foreach(example IN LISTS examples)
  get_filename_component(name "${example}" NAME_WE)
  add_executable(${name} "${example}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/examples")
  target_link_libraries(${name} PRIVATE treaty_core)
endforeach()

function(treaty_add_test name)
  add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 ENVIRONMENT
    "TREATY_BINARY=$<TARGET_FILE:treaty>;TREATY_DISK_FAULTS=$<TARGET_FILE:disk_faults>;PYTHONDONTWRITEBYTECODE=1")
endfunction()

treaty_add_test(treaty_tests treaty_tests)
treaty_add_test(check_layers ${Python3_EXECUTABLE} tools/check_layers)
file(GLOB scripts CONFIGURE_DEPENDS tests/*_test.py)
foreach(script IN LISTS scripts)
  get_filename_component(name "${script}" NAME_WE)
  treaty_add_test(${name} ${Python3_EXECUTABLE} "${script}")
endforeach()
