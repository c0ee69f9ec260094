#include "treaty/bridge/diagnosis/placement.h"

#include <doctest/doctest.h>

using namespace treaty::bridge;

namespace {

constexpr double kLater = 1'772'353'800;  // 2026-03-01T08:30:00Z, after every answer here.

// A request, and the answer to `answered` in its place unless that is empty.
Exchange placed(const std::string& suffix, const std::string& id, const std::string& answered) {
  Exchange made{.suffix = suffix};
  made.request = {.path = "request" + suffix, .state = FileState::whole};
  made.request.document = {.request_id = id,
                           .version = "1.0",
                           .agent_name = "a",
                           .prompt = "p",
                           .created_at = "2026-03-01T08:00:00Z"};
  made.response.path = ".agent-response" + suffix + ".json";
  if (!answered.empty()) {
    made.response.state = FileState::whole;
    made.response.document = {.request_id = answered,
                              .outcome = treaty::contracts::BridgeSuccess{"x"},
                              .created_at = "2026-03-01T08:00:10Z"};
    made.response.text = treaty::contracts::encode(*made.response.document);
  }
  made.answer = judge(made.request, made.response);
  return made;
}

}  // namespace

TEST_CASE("An answer in the place of another request is found from both requests") {
  const std::vector<Exchange> exchanges = {placed("-phase1", "a", ""), placed("-phase2", "b", "a")};
  const Remedies remedies({exchanges, {}, kLater});

  CHECK(remedies.of(exchanges[1]).act == Act::move);
  CHECK(remedies.place_of_answer_to(exchanges[0]) == &exchanges[1]);
  CHECK(remedies.place_of_answer_to(exchanges[1]) == nullptr);
  CHECK(misplacement_text(remedies.of(exchanges[0])).empty());
  CHECK(misplacement_text(remedies.of(exchanges[1])) ==
        "answers request-phase1, whose answer belongs in .agent-response-phase1.json");
}

TEST_CASE("Two answers are swapped if each is in the place of the other, and three are not") {
  const std::vector<Exchange> two = {placed("-phase1", "a", "b"), placed("-phase2", "b", "a")};
  CHECK(Remedies({two, {}, kLater}).are_swapped(two[0], two[1]));

  const std::vector<Exchange> three = {placed("-phase1", "a", "b"), placed("-phase2", "b", "c"),
                                       placed("-phase3", "c", "a")};
  CHECK(!Remedies({three, {}, kLater}).are_swapped(three[0], three[1]));
}

TEST_CASE("An answer whose request has one already says so") {
  const std::vector<Exchange> exchanges = {placed("-phase1", "a", "a"),
                                           placed("-phase2", "b", "a")};
  const Remedies remedies({exchanges, {}, kLater});

  CHECK(misplacement_text(remedies.of(exchanges[1]))
            .ends_with("; that request has an answer already"));
}
