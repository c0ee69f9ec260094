#include <doctest/doctest.h>

#include <string>

#include "treaty/http/wire/message_head.h"

using namespace treaty::http;

TEST_CASE("the line of a chunk is whole with its line feed, the last one with its trailer") {
  constexpr std::size_t kMore = std::string_view::npos;
  CHECK(chunk_line_size("5\r\nabcde", false) == 3);
  CHECK(chunk_line_size("\r\n5;x=y\r\nabcde", true) == 9);
  CHECK(chunk_line_size("0\r\n\r\nHTTP", false) == 5);
  CHECK(chunk_line_size("00;x\r\nA: b\r\n\r\nHTTP", false) == 14);
  for (const char* part : {"", "5", "5\r", "0", "0\r\n", "0\r\n\r", "0\r\nA: b\r\n\r"}) {
    CHECK(chunk_line_size(part, false) == kMore);
    CHECK(chunk_line_size("\r\n" + std::string(part), true) == kMore);
  }
  // No line end after the chunk: nothing to wait for.
  CHECK(chunk_line_size("xx5\r\n", true) == 4);
}
