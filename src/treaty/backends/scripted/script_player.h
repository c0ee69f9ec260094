// Goes through a script, call by call, and says what is answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/backends/call.h"
#include "treaty/backends/scripted/script.h"
#include "treaty/base/mutex.h"

namespace treaty::backends {

// What a script looks at in a request, whichever wire it came by.
struct OfferedTool {
  std::string name;
  std::string parameters_json{};  // JSON Schema; empty: none given.
};

struct Asked {
  std::string path{};
  std::string model{};
  bool stream = false;
  std::string user_text{};  // The text of the last user message.
  std::vector<OfferedTool> tools{};
  std::vector<std::string> tool_results{};  // Those that end the request.
  std::string output_schema_json{};         // The schema of structured output; "{}": any JSON.
  std::size_t prompt_bytes = 0;             // For the estimate of tokens.
};

Asked asked_of(const Call& call);

// As if the call had only its first `messages` messages.
Asked asked_of(const Call& call, std::size_t messages);

// Several threads may go through one script together: its sequence is one for all of them.
class ScriptPlayer {
 public:
  explicit ScriptPlayer(Script script);

  // The next reply, its texts filled in: {{user}}, {{file}}, {{model}}, {{call}}, {{tool_results}}
  // and {{fenced_tool_results}}.
  Reply next(const Asked& asked);

  const Script& script() const { return script_; }

 private:
  Reply choose(const Asked& asked) TREATY_REQUIRES(mutex_);

  const Script script_;
  Mutex mutex_;
  std::int64_t calls_ TREATY_GUARDED_BY(mutex_) = 0;
  std::vector<int> rule_uses_ TREATY_GUARDED_BY(mutex_);
  std::size_t position_ TREATY_GUARDED_BY(mutex_) = 0;  // In the list of replies,
  int repeated_ TREATY_GUARDED_BY(mutex_) = 0;          // and how often that one has answered.
};

// The first word of a text that looks like the name of a file, such as `src/main.cpp`; else empty.
// It holds nothing that JSON would have to escape.
std::string_view file_named_in(std::string_view text);

// `*` stands for any text, `?` for one byte.
bool matches_pattern(std::string_view pattern, std::string_view text);

// What answers when there is no script: an echo that calls a tool when the user asks for one, and
// that quotes what tools gave back.
Reply builtin_reply(const Asked& asked);

// The smallest value that a JSON Schema's plainest readers take: required members only.
std::string sample_of_schema(std::string_view schema_json);

// The pieces in which a model would say `text`: a word each, with the space before it.
std::vector<std::string> spoken_pieces(std::string_view text);
std::vector<std::string> spoken_pieces(const std::vector<std::string>& texts);  // One text only.

// About as many tokens as a tokenizer would count.
std::int64_t estimated_tokens(std::size_t bytes);

}  // namespace treaty::backends
