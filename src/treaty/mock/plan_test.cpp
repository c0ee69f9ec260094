#include "treaty/mock/plan.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

namespace treaty::mock {
namespace {

using backends::Faults;
using backends::Point;
using backends::Reply;
using std::chrono::milliseconds;

Whole three_events() {
  return {.streamed = true,
          .frames = {{"data: {\"a\":1}\n\n"}, {"data: {\"b\":2}\n\n", true}, {"data: [DONE]\n\n"}}};
}

std::string bytes_of(const Plan& plan) {
  std::string all;
  for (const Piece& piece : plan.pieces) all += piece.bytes;
  return all;
}

Plan plan_of(const Reply& reply, Whole whole = three_events()) {
  Ids ids(1);
  return make_plan(std::move(whole), reply, ids);
}

TEST_CASE("Without faults a plan is the answer, with the delays of the reply") {
  const Plan plan = plan_of({.delay = milliseconds(5), .chunk_delay = milliseconds(7)});

  CHECK(plan.delay == milliseconds(5));
  CHECK(plan.pieces.size() == 3);
  CHECK(plan.pieces[0].delay == milliseconds(0));
  CHECK(plan.pieces[2].delay == milliseconds(7));
  CHECK(plan.ending == Ending::whole);
}

TEST_CASE("A cut keeps exactly the bytes before it") {
  const std::string all = bytes_of(plan_of({}));
  for (std::size_t bytes = 0; bytes <= all.size(); ++bytes) {
    const Plan plan = plan_of({.faults = {.cut = Point{.body_bytes = bytes}}});
    CHECK(bytes_of(plan) == all.substr(0, bytes));
    CHECK(plan.ending == Ending::cut);
  }
}

TEST_CASE("Other sizes of pieces change no byte") {
  const std::string all = bytes_of(plan_of({}));

  CHECK(rc::check([&] {
    const auto size = *rc::gen::inRange<std::size_t>(1, 60);
    const Plan plan = plan_of({.chunk_size = size});
    RC_ASSERT(bytes_of(plan) == all);
    for (std::size_t i = 0; i + 1 < plan.pieces.size(); ++i) {
      RC_ASSERT(plan.pieces[i].bytes.size() == size);
    }
  }));
}

TEST_CASE("Broken JSON leaves the frame of its event alone") {
  const Plan plan = plan_of({.faults = {.malformed = backends::Malformed::json}});

  CHECK(plan.pieces[0].bytes == "data: {\"a\":1}\n\n");
  CHECK(plan.pieces[1].bytes == "data: {\n\n");
  CHECK(plan.pieces[2].bytes == "data: [DONE]\n\n");
}

TEST_CASE("An endless stream repeats its last text and never says its end") {
  const Plan plan = plan_of({.faults = {.endless = true}});

  CHECK(plan.pieces.size() == 2);
  CHECK(plan.endless.bytes == "data: {\"b\":2}\n\n");
}

TEST_CASE("An endless plain answer is white space before its last brace") {
  const Plan plan = plan_of({.faults = {.endless = true}}, {.frames = {{"{\"a\":1}"}}});

  CHECK(bytes_of(plan) == "{\"a\":1");
  CHECK(plan.endless.bytes.find_first_not_of(' ') == std::string::npos);
  CHECK(plan.streamed);
}

TEST_CASE("A cut of an endless answer ends it") {
  const Plan plan = plan_of({.faults = {.cut = Point{.body_bytes = 3}, .endless = true}});

  CHECK(plan.endless.bytes.empty());
  CHECK(bytes_of(plan) == "dat");
}

TEST_CASE("Broken framing is the last that comes") {
  const Plan plan = plan_of({.faults = {.malformed = backends::Malformed::framing}});

  CHECK(plan.pieces.back().is_raw);
  CHECK(plan.ending == Ending::cut);
}

TEST_CASE("The note names the stream and every fault") {
  const Plan plan =
      plan_of({.faults = {.stall = Point{}, .garbage = backends::Garbage{.bytes = 3}}});

  CHECK(plan.note == "stream, garbage, stall");
}

}  // namespace
}  // namespace treaty::mock
