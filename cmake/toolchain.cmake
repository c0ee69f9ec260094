# Tools that only make building faster: ccache and lld, each used when it is found.
find_program(TREATY_CCACHE ccache)
if(TREATY_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths relative to the tree, so that a fresh clone finds what another one has compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}"
    CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1 CCACHE_PCH_EXTSUM=1 CCACHE_SLOPPINESS=pch_defines,time_macros
    "${TREATY_CCACHE}")
endif()

find_program(TREATY_LLD NAMES ld.lld-19 ld.lld)
if(TREATY_LLD AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_link_options("--ld-path=${TREATY_LLD}")
endif()
