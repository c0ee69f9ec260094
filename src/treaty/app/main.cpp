#include <cstdio>
#include <new>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "treaty/app/wire_up.h"

namespace {

// Requests with pictures are buffers of megabytes. Each is given back to the system when it is
// freed: with a fixed threshold the allocator does not begin to keep them in its heaps.
void return_large_buffers() {
#if defined(__GLIBC__)
  constexpr int kLarge = 256 << 10;
  mallopt(M_MMAP_THRESHOLD, kLarge);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  return_large_buffers();
  try {
    return treaty::app::run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("treaty: out of memory\n", stderr);
    return 1;
  }
}
