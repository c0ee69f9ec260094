// The C++ of the README, compiled and run as it stands there.
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "treaty/contracts/agent_execute_response.h"

using namespace treaty::contracts;

namespace {

// What the snippet did: the rule it refused by, or the first tool it ran.
std::string done_with(std::string_view bytes) {
  std::string outcome;
  const auto refuse = [&](const Findings& found) { outcome = found.front().rule.text(); };
  const auto run = [&](const std::vector<ToolCall>& calls) { outcome = calls.front().name; };
  const auto readme = [&] {
    // clang-format off
auto response = treaty::contracts::decode_agent_execute_response(bytes);
if (!response) return refuse(response.error());  // Every violation: rule, pointer, line, hint.
if (auto* turn = std::get_if<ClientToolContinuation>(&response->kind)) run(turn->tool_calls);
    // clang-format on
  };
  readme();
  return outcome;
}

std::string text_of(const std::string& file) {
  std::stringstream text;
  text << std::ifstream(std::string(TREATY_SOURCE_DIR) + "/" + file).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("the C++ of the README compiles and does what it says") {
  CHECK(done_with("{}").starts_with("RES-0"));
  CHECK(done_with(R"({"Kind": "client_tool_continuation", "SessionId": "s", "TurnId": "t",
             "ModeDisplayName": "m", "ToolCalls": [{"ToolCallId": "c", "Name": "read_file",
                                                    "ArgumentsJson": "{}"}]})") == "read_file");
}

TEST_CASE("the C++ of the README is the C++ that is compiled here") {
  const std::string page = text_of("README.md");
  const std::size_t begin = page.find("```cpp\n") + 7;
  const std::string snippet = page.substr(begin, page.find("```", begin) - begin);

  CHECK(!snippet.empty());
  CHECK(text_of("src/treaty/testing/readme_test.cpp").contains(snippet));
}
