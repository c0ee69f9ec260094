#include "treaty/cli/bridge/envelope.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "treaty/base/json.h"
#include "treaty/base/text.h"

using namespace treaty;
using namespace treaty::cli;

namespace {

constexpr const char* kNow = "2026-11-16T10:00:30.250Z";

contracts::BridgeRequest request() {
  return {.request_id = "6f1c2a34-9d0b-4e57-8a1f-2b7c5d90e3a6",
          .version = "1.0",
          .agent_name = "reviewer",
          .prompt = "Review it.",
          .created_at = "2026-11-16T10:00:00Z"};
}

TEST_CASE("Every text that is UTF-8 and no envelope comes out as it went in, and keeps BRS-13") {
  CHECK(rc::check([] {
    const auto text = *rc::gen::map(
        rc::gen::container<std::string>(rc::gen::oneOf(
            rc::gen::arbitrary<char>(), rc::gen::elementOf(std::string("{}[]\",:01 \n")))),
        [](const std::string& bytes) { return repaired_utf8(bytes); });

    const auto response = wrap_answer(request(), {.text = text}, kNow);

    RC_ASSERT(response.has_value());
    const auto read = contracts::decode_bridge_response(contracts::encode(*response));
    RC_ASSERT(static_cast<bool>(read));
    RC_ASSERT(std::get<contracts::BridgeSuccess>(read->outcome).response == text);
    const auto type = json::type_of_json(text);
    RC_ASSERT(read->metadata.contains("content_type") ==
              (type == json::Type::object || type == json::Type::array));
  }));
}

TEST_CASE("The time that it took is told to the millisecond and is never negative") {
  CHECK(wrap_answer(request(), {.text = "x"}, kNow)->duration_seconds == 30.25);
  CHECK(wrap_answer(request(), {.text = "x"}, "2026-11-16T09:00:00Z")->duration_seconds == 0);
}

TEST_CASE("A clock behind the asker's makes no stale answer") {
  CHECK(wrap_answer(request(), {.text = "x"}, "2026-11-16T09:00:00Z")->created_at ==
        request().created_at);
}

TEST_CASE("An error of the type timeout is a timeout (D9)") {
  const auto response = wrap_answer(
      request(), {.status = GivenStatus::error, .error_message = "late", .error_type = "timeout"},
      kNow);

  REQUIRE(response);
  CHECK(std::get<contracts::BridgeTimeout>(response->outcome).error_message == "late");
}

TEST_CASE("What is no text, or has its envelope, is refused with what to do") {
  CHECK(wrap_answer(request(), {.text = "caf\xE9"}, kNow).error().contains("iconv"));
  const std::string envelope = encode(*wrap_answer(request(), {.text = "x"}, kNow));
  CHECK(wrap_answer(request(), {.text = envelope}, kNow).error().contains("envelope already"));
}

TEST_CASE("What does not fit into a document is refused by the rule that says so") {
  const std::string large(std::size_t{16} << 20U, 'a');
  CHECK(wrap_answer(request(), {.text = large}, kNow).error().contains("JSON-03"));
}

}  // namespace
