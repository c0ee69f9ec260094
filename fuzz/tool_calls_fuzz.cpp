// Fuzzes the check of a model's tool calls, one call a line (`id name arguments`): what a client
// gets keeps the contract, every call has its place, and the model hears of each that is not run.
#include <string>

#include "require.h"
#include "treaty/base/text.h"
#include "treaty/contracts/agent_execute_response.h"
#include "treaty/turns/step.h"

using namespace treaty;  // NOLINT: a target is one file.
using fuzz::require;

namespace {

std::string next_word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string word(line.substr(0, end));
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

std::vector<contracts::AgentToolCall> calls_of(std::string_view text) {
  std::vector<contracts::AgentToolCall> calls;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    std::string id = next_word(line);
    std::string name = next_word(line);
    calls.push_back({std::move(id), std::move(name), std::string(line)});
  }
  return calls;
}

void check(const std::vector<contracts::AgentToolCall>& calls, turns::Progress& progress) {
  turns::AgentRole role;
  for (const char* name : {"f", "g"}) role.tools.push_back({.declaration = {.name = name}});
  const auto checked = turns::check_tool_calls(role, calls, calls.size() % 2 == 1, progress);
  require(checked.said.size() == std::min(calls.size(), turns::kMostCalls));
  require(checked.said.size() == checked.for_client.size() + checked.refused.size());
  for (const auto& refused : checked.refused) require(refused.failed && !refused.content.empty());
  if (checked.for_client.empty()) return;
  const contracts::AgentExecuteResponse response{
      .session_id = "s",
      .turn_id = "t",
      .mode_display_name = "m",
      .kind = contracts::ClientToolContinuation{.tool_calls = checked.for_client}};
  require(static_cast<bool>(contracts::decode_agent_execute_response(encode(response))));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto calls = calls_of(fuzz::as_text(data, size));
  turns::Progress progress;
  for (int round = 0; round < 3; ++round) check(calls, progress);
  // What is journalled is read again.
  const turns::Transcript transcript{.progress = progress};
  const auto again = turns::decode_transcript(turns::encode(transcript));
  require(again.has_value() && *again == transcript);
  return 0;
}
