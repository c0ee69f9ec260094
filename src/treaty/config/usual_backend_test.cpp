#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "treaty/backends/scripted/script_player.h"
#include "treaty/config/sections/sections.h"
#include "treaty/contracts/text/guarded_text.h"
#include "treaty/testing/configurations.h"

namespace treaty::config {
namespace {

using backends::Asked;
using backends::Reply;

turns::AgentRole demo_role() {
  const auto loaded = load(testing::Given{}.sources());
  REQUIRE(loaded);
  return loaded->turns.agents.at("default").role;
}

Reply answer(std::string user, std::vector<std::string> tool_results = {}) {
  const auto script = backends::read_script(demo_script());
  REQUIRE(script);
  Asked asked{.user_text = std::move(user), .tool_results = std::move(tool_results)};
  for (const auto& tool : demo_role().tools) asked.tools.push_back({tool.declaration.name});
  return backends::ScriptPlayer(*script).next(asked);
}

// "read_file{"path":"README.md"} "…
std::string calls_of(const Reply& reply) {
  std::string out;
  for (const auto& call : reply.tool_calls) out += call.name + call.arguments + " ";
  return out;
}

TEST_CASE("The demo answers a greeting with what to try next") {
  for (const char* greeting :
       {"Hello.", "Are you ready for some times?", "It costs 3.5, e.g. now"}) {
    const Reply reply = answer(greeting);

    CHECK(reply.tool_calls.empty());
    REQUIRE(reply.text.size() == 1);
    CHECK(reply.text[0].contains("Read README.md"));
    CHECK(backends::spoken_pieces(reply.text[0]).size() > 20);
  }
}

TEST_CASE("The demo asks the client for the file that the user names") {
  CHECK(calls_of(answer("Read README.md")) == R"(read_file{"path":"README.md"} )");
  CHECK(calls_of(answer("please look at `src/main.cpp`.")) ==
        R"(read_file{"path":"src/main.cpp"} )");
  CHECK(calls_of(answer("Can you read a file?")) == R"(read_file{"path":"README.md"} )");
}

TEST_CASE("The demo asks the client for the time, and for both") {
  CHECK(calls_of(answer("What time is it?")) == "get_time{} ");
  CHECK(calls_of(answer("Read notes.txt and tell me the time")) ==
        R"(read_file{"path":"notes.txt"} get_time{} )");
}

TEST_CASE("The calls of the demo fit the schemas of its tools") {
  for (const char* text : {"Read a.b/\"c\".txt, now", "read a file", "the time in a.md"}) {
    for (const auto& call : answer(text).tool_calls) {
      CAPTURE(call.arguments);
      for (const auto& tool : demo_role().tools) {
        if (tool.declaration.name != call.name) continue;
        CHECK(!tool.parameters->mismatch_of_text(call.arguments));
      }
    }
  }
}

TEST_CASE("RES-30, RES-31: whatever tools give back, the demo quotes it inside of a tagged fence") {
  CHECK(
      answer("", {R"({"content":"Hi."})"}).text[0].contains("```json\n{\"content\":\"Hi.\"}\n```"));
  CHECK(answer("", {"plain", "```\n{}\n```"}).text[0].contains("````text\n```\n{}\n```\n````"));
  const bool holds = rc::check([] {
    const auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
        "`", "```", "\n", "~~~", "{\"a\":1}", "data:text/plain;base64,QUJD", "text", " "));
    std::string result;
    for (const std::string& piece : pieces) result += piece;
    const std::string text = answer("", {result, std::string(2'000, 'A')}).text[0];
    RC_ASSERT(!contracts::has_unguarded_payload(text));
    RC_ASSERT(!contracts::has_embedded_file(text));
  });
  CHECK(holds);
}

}  // namespace
}  // namespace treaty::config
