// What a model thought, on its way through a protocol: kept as it came, with its place in the
// answer, and put back at that place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/backends/call.h"
#include "treaty/base/json.h"
#include "treaty/results/answer.h"

namespace treaty::backends {

struct RequestStyle;

// An answer that thinks more is not read to its end: as many bytes as the largest answer has.
constexpr std::size_t kMostThoughtBytes = std::size_t{12} << 20U;
constexpr std::size_t kMostThoughts = 10'000;

// False: it has more thoughts than an answer may have.
bool has_allowed_thoughts(const results::Answer& answer);

// Adds what can be read of one whole thought; an empty line separates it from the one before.
void add_thinking(results::Answer& answer, std::string_view text);

// Adds a thought at the end of what the answer holds so far.
void add_thought(results::Answer& answer, std::string json);

// What a message of Responses says of itself: {"type":"message","phase":…}, at the begin of its
// text. Nothing when it says nothing.
std::optional<std::string> phase_of(json::Value item);

// {"name": value}, with the value as it came.
std::string object_of(std::string_view name, json::Value value);

// An object that comes in pieces. Where `joined` names a text, its pieces are put together; of
// everything else the last piece counts.
class JoinedObject {
 public:
  void join(json::Value piece, std::initializer_list<std::string_view> joined);
  void append(std::string_view name, std::string_view text);

  std::string_view first_name() const { return members_.front().name; }  // Not of an empty one.

  // The text of that name, as far as it came.
  std::string_view text(std::string_view name) const;

  std::string json() const;

 private:
  struct Member {
    std::string name;
    std::string value;  // A text, or JSON.
    bool is_text = false;
  };
  Member& member(std::string_view name);

  std::vector<Member> members_{};
};

// The thoughts of `message` that go back with this call: those of the author who is asked, unless
// that author has refused them.
std::span<const results::Thought> thoughts_to_send(const Call& call,
                                                   const AssistantMessage& message);

// Whether thoughts go back that their author only takes behind the prompt that they answered. The
// prompt may have changed: then the provider shall leave them out instead of refusing the call.
bool sends_bound_thoughts(const Call& call, const RequestStyle& style);

// A thought as an object that a request may hold; nothing when it is none.
class ThoughtReader {
 public:
  explicit ThoughtReader(const results::Thought& thought);
  std::optional<json::Value> object() const;

 private:
  json::Document document_;
};

// Whether each of them is such an object. Half a surrogate pair, which few servers read, makes it
// none; repeated names and huge numbers do not.
bool can_go_back(std::span<const results::Thought> thoughts);

bool is_inside_character(char c);  // A byte of UTF-8 that begins none.

// The largest offset up to `at` that does not split a character.
std::size_t character_begin(std::string_view text, std::size_t at);

// Gives a message's text, calls and thoughts in their order: `on_text(text)` for what is between
// two thoughts, `on_call(index)`, and `on_thought(thought, is_last)`, where is_last says that
// nothing but thoughts follows. Thoughts that are not `wanted` are passed over. A place that the
// message does not have means its end: texts may have been changed since.
template <class Wanted, class OnText, class OnCall, class OnThought>
void each_part(const AssistantMessage& message, std::span<const results::Thought> thoughts,
               const Wanted& wanted, const OnText& on_text, const OnCall& on_call,
               const OnThought& on_thought) {
  std::size_t text = 0;
  std::size_t calls = 0;
  const auto go_to = [&](std::size_t text_end, std::size_t calls_end) {
    if (text_end > text) on_text(std::string_view(message.text).substr(text, text_end - text));
    text = std::max(text, text_end);
    for (; calls < calls_end; ++calls) on_call(calls);
  };
  for (const results::Thought& thought : thoughts) {
    if (!wanted(thought)) continue;
    go_to(character_begin(message.text, thought.text),
          std::min(thought.calls, message.tool_calls.size()));
    on_thought(thought, calls == message.tool_calls.size() && text == message.text.size());
  }
  go_to(message.text.size(), message.tool_calls.size());
}

}  // namespace treaty::backends
