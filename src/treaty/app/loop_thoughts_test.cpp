#include "treaty/app/loop_thoughts.h"

#include <doctest/doctest.h>

namespace treaty::app {
namespace {

using backends::AssistantMessage;

contracts::AgentResult calling(std::string id) {
  return {.tool_calls = std::vector<contracts::AgentToolCall>{{std::move(id), "look", "{}"}}};
}

backends::Thoughts thoughts(std::string json) {
  return {.author = "a/m", .parts = {{.json = std::move(json)}}};
}

std::string put_back(const LoopThoughts& kept, const std::string& loop, const std::string& id) {
  backends::Messages messages = {AssistantMessage{.tool_calls = {{id, "look", "{}"}}}};
  kept.put_back(loop, messages);
  const auto& said = std::get<AssistantMessage>(messages[0]);
  return said.thoughts.parts.empty() ? "" : said.thoughts.parts[0].json;
}

TEST_CASE("A message of a tool loop gets the thoughts of its answer") {
  LoopThoughts kept;
  kept.keep("x:1", calling("c1"), thoughts("{\"one\":1}"));
  kept.keep("x:1", calling("c2"), thoughts("{\"two\":2}"));

  CHECK(put_back(kept, "x:1", "c1") == "{\"one\":1}");
  CHECK(put_back(kept, "x:1", "c2") == "{\"two\":2}");
}

TEST_CASE("The same call without an id, made twice, gets the thoughts of each time") {
  LoopThoughts kept;
  kept.keep("x:1", calling(""), thoughts("{\"one\":1}"));
  kept.keep("x:1", calling(""), thoughts("{\"two\":2}"));
  const AssistantMessage again{.tool_calls = {{"", "look", "{}"}}};
  backends::Messages messages = {again, again};

  kept.put_back("x:1", messages);

  CHECK(std::get<AssistantMessage>(messages[0]).thoughts.parts[0].json == "{\"one\":1}");
  CHECK(std::get<AssistantMessage>(messages[1]).thoughts.parts[0].json == "{\"two\":2}");
}

TEST_CASE("Another loop does not get them, nor a message with other calls") {
  LoopThoughts kept;
  kept.keep("x:1", calling("c1"), thoughts("{}"));

  CHECK(put_back(kept, "x:2", "c1").empty());
  CHECK(put_back(kept, "x:1", "c9").empty());
}

TEST_CASE("The oldest are forgotten when there are too many") {
  LoopThoughts kept;
  for (int i = 0; i < 30; ++i) {
    kept.keep("x:1", calling("c" + std::to_string(i)), thoughts(std::string(1 << 20, 'x')));
  }

  CHECK(put_back(kept, "x:1", "c0").empty());
  CHECK(!put_back(kept, "x:1", "c29").empty());
}

TEST_CASE("An answer without calls is not kept") {
  LoopThoughts kept;
  kept.keep("x:1", {.content = "Done."}, thoughts("{}"));

  CHECK(put_back(kept, "x:1", "c1").empty());
}

}  // namespace
}  // namespace treaty::app
