#include "treaty/app/loop_thoughts.h"

#include <algorithm>
#include <map>
#include <ranges>
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

// The newest message of a key gets the newest thoughts: those of the oldest may have been dropped.
void LoopThoughts::put_back(const std::string& loop, backends::Messages& messages) const {
  if (entries_.empty()) return;
  std::map<std::string, int> seen;
  std::vector<const Entry*> kept(messages.size(), nullptr);
  for (std::size_t i = messages.size(); i-- > 0;) {
    const auto* said = std::get_if<backends::AssistantMessage>(&messages[i]);
    if (said == nullptr || said->tool_calls.empty()) continue;
    const std::string key = key_of(loop, said->tool_calls);
    kept[i] = find(key, seen[key]++);
  }
  if (std::ranges::all_of(kept, [](const Entry* entry) { return entry == nullptr; })) return;
  backends::Messages with;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    backends::Message message = messages[i];
    if (kept[i] != nullptr) {
      std::get<backends::AssistantMessage>(message).thoughts = kept[i]->thoughts;
    }
    with.push_back(std::move(message));
  }
  messages = std::move(with);
}

const LoopThoughts::Entry* LoopThoughts::find(std::string_view key, int newer) const {
  for (const Entry& entry : entries_ | std::views::reverse) {
    if (entry.key == key && newer-- == 0) return &entry;
  }
  return nullptr;
}

}  // namespace treaty::app
