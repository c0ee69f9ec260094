#include "treaty/turns/settings.h"

#include <doctest/doctest.h>

using namespace treaty::turns;

TEST_CASE("a ConversationContextId names a role of the agent; none names the agent's own") {
  const Agent agent{.name = "default",
                    .role = {.mode = "General"},
                    .conversations = {{"review", {.mode = "Review"}}}};

  REQUIRE(agent.find_role("") != nullptr);
  CHECK(agent.find_role("")->mode == "General");
  REQUIRE(agent.find_role("review") != nullptr);
  CHECK(agent.find_role("review")->mode == "Review");
  CHECK(agent.find_role("Review") == nullptr);
}
