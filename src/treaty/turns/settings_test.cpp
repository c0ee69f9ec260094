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

TEST_CASE("the default agent is the one of that name, or the only one") {
  Settings settings;
  CHECK(settings.find_agent("default") == nullptr);

  settings.agents["writer"] = {.name = "writer"};
  REQUIRE(settings.find_agent("default") != nullptr);
  CHECK(settings.find_agent("default")->name == "writer");
  CHECK(settings.find_agent("nobody") == nullptr);

  settings.agents["reviewer"] = {.name = "reviewer"};
  CHECK(settings.find_agent("default") == nullptr);
  CHECK(settings.find_agent("writer")->name == "writer");

  settings.agents["default"] = {.name = "default"};
  CHECK(settings.find_agent("default")->name == "default");
}
