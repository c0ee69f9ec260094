#include "treaty/http/wire/body_memory.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "treaty/http/wire/request_decoder.h"

using namespace treaty::http;

namespace {

constexpr std::size_t kKibi = 1024;

RequestLimits limits_in(BodyMemory& memory) {
  return {.max_header_bytes = 1'000,
          .max_body_bytes = 1'024 * kKibi,
          .body_memory = &memory,
          .max_body_memory = 512 * kKibi};
}

std::string head_of(std::size_t length) {
  return "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(length) + "\r\n\r\n";
}

std::string chunk_of(std::size_t length) {
  return fmt::format("{:x}\r\n{}\r\n", length, std::string(length, 'c'));
}

}  // namespace

TEST_CASE("what is taken is given back, and never more than the limit is taken") {
  BodyMemory memory;
  CHECK(memory.take(60, 100));
  CHECK(!memory.take(41, 100));
  CHECK(memory.take(40, 100));
  CHECK(!memory.has_room(1, 100));
  CHECK(!memory.take(1, 50));
  memory.give_back(100);
  CHECK(memory.used() == 0);
}

TEST_CASE("a share gives back what it has when it ends, moves on or is replaced") {
  BodyMemory memory;
  {
    BodyShare first(&memory, 512 * kKibi);
    CHECK(first.grow_to(kUncountedBody));
    CHECK(memory.used() == 0);
    CHECK(first.grow_to(100 * kKibi));
    CHECK(first.grow_to(300 * kKibi));
    CHECK(memory.used() == 300 * kKibi);
    BodyShare second(&memory, 512 * kKibi);
    CHECK(!second.grow_to(213 * kKibi));
    CHECK(second.grow_to(212 * kKibi));
    BodyShare third = std::move(first);
    CHECK(memory.used() == 512 * kKibi);
    third = {};
    CHECK(memory.used() == 212 * kKibi);
  }
  CHECK(memory.used() == 0);
}

TEST_CASE("a body is counted as it comes, a small one not at all") {
  BodyMemory memory;
  const RequestLimits limits = limits_in(memory);
  RequestDecoder small(limits);
  small.feed(head_of(64 * kKibi) + std::string(64 * kKibi, 'b'));
  CHECK(small.done());
  CHECK(memory.used() == 0);

  RequestDecoder large(limits);
  large.feed(head_of(300 * kKibi) + std::string(60 * kKibi, 'b'));
  CHECK(memory.used() == 0);
  large.feed(std::string(200 * kKibi, 'b'));
  CHECK(memory.used() >= 260 * kKibi);
  large.feed(std::string(40 * kKibi, 'b'));
  CHECK(large.done());
  CHECK(memory.used() == 300 * kKibi);
  const BodyShare share = large.take_share();
  CHECK(memory.used() == 300 * kKibi);
}

TEST_CASE("a length that finds no room is refused with 503 before the body comes") {
  BodyMemory memory;
  CHECK(memory.take(400 * kKibi, 512 * kKibi));
  RequestDecoder decoder(limits_in(memory));
  decoder.feed(head_of(200 * kKibi));
  CHECK(decoder.refusal().status == 503);
  CHECK(memory.used() == 400 * kKibi);
}

TEST_CASE("chunks that grow beyond the room there is are refused with 503") {
  BodyMemory memory;
  {
    RequestDecoder decoder(limits_in(memory));
    std::string pending = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
    const auto feed = [&](const std::string& bytes) {
      pending += bytes;
      pending.erase(0, decoder.feed(pending));
    };
    for (int i = 0; i < 4; ++i) feed(chunk_of(128 * kKibi));
    CHECK(decoder.refusal().status == 0);
    CHECK(memory.used() == 512 * kKibi);
    feed(chunk_of(128 * kKibi));
    CHECK(decoder.refusal().status == 503);
  }
  CHECK(memory.used() == 0);
}
