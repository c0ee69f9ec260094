# The bench target: every bench/NAME_bench.cpp becomes bench/NAME_bench in the build tree.
add_custom_target(bench)
file(GLOB bench_sources CONFIGURE_DEPENDS bench/*_bench.cpp)
if(bench_sources)
  find_package(benchmark REQUIRED)
  find_package(simdjson REQUIRED)
endif()
# Load, the programs it is put on, and the disk below them.
add_library(bench_load STATIC EXCLUDE_FROM_ALL bench/load/crowd.cpp bench/load/disk.cpp bench/load/program.cpp)
target_include_directories(bench_load PUBLIC "${PROJECT_SOURCE_DIR}")
target_link_libraries(bench_load PUBLIC treaty_options fmt::fmt PRIVATE SQLite::SQLite3)

# Providers with true limits, and a clock that jumps.
file(GLOB simulation_sources CONFIGURE_DEPENDS src/treaty/testing/simulation/*.cpp)
add_library(bench_simulation STATIC EXCLUDE_FROM_ALL ${simulation_sources})
target_link_libraries(bench_simulation PUBLIC treaty_core)

foreach(source IN LISTS bench_sources)
  get_filename_component(name "${source}" NAME_WE)
  add_executable(${name} EXCLUDE_FROM_ALL "${source}")
  target_compile_definitions(${name} PRIVATE TREATY_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE treaty_core bench_load bench_simulation benchmark::benchmark simdjson::simdjson)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench")
  add_dependencies(bench ${name})
endforeach()
