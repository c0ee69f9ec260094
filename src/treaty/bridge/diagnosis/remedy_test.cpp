#include "treaty/bridge/diagnosis/remedy.h"

#include <doctest/doctest.h>

using namespace treaty::bridge;

namespace {

constexpr double kNow = 1'772'353'800;  // 2026-03-01T08:30:00Z.
constexpr std::int64_t kOneSecond = 1'000'000'000;

std::string answer_text(const std::string& id, const std::string& metadata = "{}") {
  return R"({"request_id": ")" + id + R"(", "version": "1.0", "status": "success",
      "response": "x", "error_message": null, "error_type": null,
      "created_at": "2026-03-01T08:00:10Z", "duration_seconds": 1, "metadata": )" +
         metadata + "}";
}

// A request, unless its id is empty, and the text in the place of its answer.
Exchange exchange(const std::string& suffix, const std::string& id, const std::string& text) {
  Exchange made{.suffix = suffix};
  made.request.path = ".agent-request" + suffix + ".json";
  if (!id.empty()) {
    made.request.state = FileState::whole;
    made.request.document = {.request_id = id,
                             .version = "1.0",
                             .agent_name = "a",
                             .prompt = "p",
                             .created_at = "2026-03-01T08:00:00Z"};
  }
  made.response.path = ".agent-response" + suffix + ".json";
  if (!text.empty()) {
    made.response.text = text;
    made.response.version.changed_at = (static_cast<std::int64_t>(kNow) - 60) * kOneSecond;
    treaty::contracts::DecodeOptions options;
    if (!id.empty()) options.request_id = id;
    auto decoded = treaty::contracts::decode_bridge_response(text, options);
    made.response.state = decoded ? FileState::whole : FileState::broken;
    if (decoded) made.response.document = *decoded;
    made.response.verdict = decoded.verdict();
  }
  made.answer = judge(made.request, made.response);
  return made;
}

Remedy remedy(const std::vector<Exchange>& exchanges, std::size_t place = 0,
              const std::vector<Entry>& journal = {}) {
  return remedy_for(exchanges[place], {exchanges, journal, kNow});
}

}  // namespace

TEST_CASE("BRS-12: a UUID that differs only in letter case is repaired; any other id is foreign") {
  const std::string id = "6f1c2a34-9d0b-4e57-8a1f-2b7c5d90e3a6";
  const std::string upper = "6F1C2A34-9D0B-4E57-8A1F-2B7C5D90E3A6";
  const Exchange same = exchange("", id, answer_text(upper));
  CHECK(same.answer == AnswerState::broken);
  CHECK(remedy({same}).act == Act::repair);
  CHECK(remedy({same}).repaired.text == answer_text(id));

  const Exchange other = exchange("", "review-1", answer_text("Review-1"));
  CHECK(other.answer == AnswerState::foreign);
  CHECK(remedy({other}).act == Act::put_away);
}

TEST_CASE("An answer in its place is left, and one that has one repair is repaired") {
  CHECK(remedy({exchange("", "a", answer_text("a"))}).act == Act::leave);
  CHECK(remedy({exchange("", "a", "")}).act == Act::leave);
  const Remedy repaired = remedy({exchange("", "a", answer_text("a", "null"))});
  CHECK(repaired.act == Act::repair);
  CHECK(repaired.repaired.text == answer_text("a"));
  CHECK(remedy({exchange("", "a", R"({"response": "x", "error_message": "y"})")}).act ==
        Act::leave);
}

TEST_CASE("An answer to another request is put away, whole or broken") {
  CHECK(remedy({exchange("", "a", answer_text("b"))}).reason == "foreign");
  CHECK(remedy({exchange("", "a", answer_text("b", "null"))}).reason == "foreign");
  CHECK(remedy({exchange("", "a", answer_text("b", "{},"))}).reason == "foreign");
}

TEST_CASE("An answer without a request is put away unless the journal knows it") {
  const std::vector<Exchange> orphan = {exchange("", "", answer_text("a"))};

  CHECK(remedy(orphan).reason == "orphaned");
  for (const char* event : {"answer.written", "answer.found", "answer.repaired", "answer.moved"}) {
    CHECK(remedy(orphan, 0, {{.at = "", .event = event, .details = {{"request_id", "a"}}}}).act ==
          Act::leave);
  }
  CHECK(remedy(orphan, 0,
               {{.at = "", .event = "answer.written", .details = {{"request_id", "b"}}},
                {.at = "", .event = "request.asked", .details = {{"request_id", "a"}}}})
            .act == Act::put_away);
}

TEST_CASE("An answer with another suffix is moved to the place of its request") {
  const std::vector<Exchange> free = {exchange("", "", answer_text("a")),
                                      exchange("-phase1", "a", "")};
  CHECK(remedy(free).act == Act::move);
  CHECK(remedy(free).owner == &free[1]);

  const std::vector<Exchange> taken = {exchange("", "", answer_text("a")),
                                       exchange("-phase1", "a", answer_text("z"))};
  CHECK(remedy(taken).act == Act::move);

  const std::vector<Exchange> answered = {exchange("", "b", answer_text("a")),
                                          exchange("-phase1", "a", answer_text("a"))};
  CHECK(remedy(answered).act == Act::put_away);
  CHECK(remedy(answered).reason == "foreign");

  const std::vector<Exchange> crossed = {exchange("", "b", answer_text("a")),
                                         exchange("-phase1", "a", answer_text("b"))};
  CHECK(remedy(crossed).act == Act::swap);
}

TEST_CASE("An answer that a repair would complete keeps its place") {
  const std::vector<Exchange> both = {exchange("", "", answer_text("a")),
                                      exchange("-phase1", "a", answer_text("a", "null"))};

  CHECK(remedy(both, 0).act == Act::put_away);
  CHECK(remedy(both, 1).act == Act::repair);
}

TEST_CASE("An answer without a time is as old as its file") {
  std::vector<Exchange> exchanges = {exchange("", "a", R"({"response": "x"})")};
  CHECK(remedy(exchanges).act == Act::repair);

  exchanges[0].response.version.changed_at =
      (static_cast<std::int64_t>(kNow) - 86'400) * kOneSecond;
  CHECK(remedy(exchanges).act == Act::put_away);
  CHECK(remedy(exchanges).reason == "stale");
}
