// Goes through a script, call by call, and says what is answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "treaty/backends/scripted/asked.h"
#include "treaty/backends/scripted/script.h"
#include "treaty/base/mutex.h"

namespace treaty::backends {

// Not for use by several threads at once.
class ScriptPlayer {
 public:
  explicit ScriptPlayer(Script script);

  // The next reply, its texts filled in: {{user}}, {{file}}, {{model}}, {{call}}, {{tool_results}}
  // and {{fenced_tool_results}}.
  Reply next(const Asked& asked);

  const Script& script() const { return script_; }

 private:
  Reply choose(const Asked& asked);

  Script script_;
  std::int64_t calls_ = 0;
  std::vector<int> rule_uses_;
  std::size_t position_ = 0;  // In the list of replies,
  int repeated_ = 0;          // and how often that one has answered.
};

// One script that several threads go through together: its sequence is one for all of them.
class SharedScriptPlayer {
 public:
  explicit SharedScriptPlayer(Script script) : player_(std::move(script)) {}

  Reply next(const Asked& asked) {
    const MutexLock lock(mutex_);
    return player_.next(asked);
  }

  // Does not change.
  const Script& script() const TREATY_UNCHECKED { return player_.script(); }

 private:
  Mutex mutex_;
  ScriptPlayer player_ TREATY_GUARDED_BY(mutex_);
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

// About as many tokens as a tokenizer would count.
std::int64_t estimated_tokens(std::size_t bytes);

}  // namespace treaty::backends
