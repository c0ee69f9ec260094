#include <cstdio>
#include <new>

#include "treaty/app/wire_up.h"

int main(int argc, char** argv) {
  try {
    return treaty::app::run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("treaty: out of memory\n", stderr);
    return 1;
  }
}
