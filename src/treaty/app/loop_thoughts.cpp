#include "treaty/app/loop_thoughts.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

namespace treaty::app {
namespace {

constexpr std::size_t kMostEntries = 1'000;
constexpr std::size_t kMostBytes = std::size_t{16} << 20U;

// An answer is known by its calls: some providers give them no ids.
std::string key_of(const std::string& loop, const std::vector<contracts::AgentToolCall>& calls) {
  std::string key = loop;
  for (const contracts::AgentToolCall& call : calls) {
    key.append("\n").append(call.id).append(" ").append(call.name);
    key.append(" ").append(call.arguments);
  }
  return key;
}

}  // namespace

void LoopThoughts::keep(const std::string& loop, const contracts::AgentResult& answer,
                        backends::Thoughts thoughts) {
  if (thoughts.parts.empty() || !answer.tool_calls || answer.tool_calls->empty()) return;
  Entry entry{.key = key_of(loop, *answer.tool_calls), .thoughts = std::move(thoughts)};
  entry.bytes = entry.key.size();
  for (const results::Thought& thought : entry.thoughts.parts) entry.bytes += thought.json.size();
  if (entry.bytes > kMostBytes) return;
  bytes_ += entry.bytes;
  entries_.push_back(std::move(entry));
  while (entries_.size() > kMostEntries || bytes_ > kMostBytes) {
    bytes_ -= entries_.front().bytes;
    entries_.pop_front();
  }
}

void LoopThoughts::put_back(const std::string& loop, backends::Messages& messages) const {
  if (entries_.empty()) return;
  backends::Messages with;
  for (const backends::Message& message : messages) {
    const auto* said = std::get_if<backends::AssistantMessage>(&message);
    auto kept = entries_.rend();
    if (said != nullptr && !said->tool_calls.empty()) {
      kept = std::find_if(
          entries_.rbegin(), entries_.rend(),
          [key = key_of(loop, said->tool_calls)](const Entry& entry) { return entry.key == key; });
    }
    if (kept == entries_.rend()) {
      with.push_back(message);
      continue;
    }
    backends::AssistantMessage thoughtful = *said;
    thoughtful.thoughts = kept->thoughts;
    with.push_back(std::move(thoughtful));
  }
  messages = std::move(with);
}

}  // namespace treaty::app
