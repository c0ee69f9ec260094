// The main of all unit tests. Property tests get a fixed seed, so that every run tries the same.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>

#ifndef _GLIBCXX_ASSERTIONS
#error "without library assertions, a test that reads a value that is not there passes by chance"
#endif

int main(int argc, char** argv) {
  setenv("RC_PARAMS", "seed=1729 max_success=300", 0);
  return doctest::Context(argc, argv).run();
}
