// A script: what a played provider answers, in which order, and what goes wrong on the way. The
// scripted backend plays it in the process, `treaty mock` over HTTP. docs/guide/mock.md describes
// the file.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/base/diagnostic.h"
#include "treaty/base/headers.h"

namespace treaty::backends {

struct ScriptedToolCall {
  std::string name;
  std::string arguments = "{}";     // The JSON text, or what the script wants to stand there.
  std::optional<std::string> id{};  // Else one is made up.
  bool operator==(const ScriptedToolCall&) const = default;
};

// What is absent is estimated.
struct ScriptedUsage {
  std::optional<std::int64_t> input_tokens{};  // Cached ones included.
  std::optional<std::int64_t> output_tokens{};
  std::int64_t cache_read_tokens = 0;
  std::int64_t cache_write_tokens = 0;
  bool operator==(const ScriptedUsage&) const = default;
};

// What is absent is what the provider says with that status.
struct ScriptedError {
  int status = 500;
  std::optional<std::string> type{};
  std::optional<std::string> code{};
  std::optional<std::string> message{};
  bool operator==(const ScriptedError&) const = default;
};

// A place in an answer: before its first byte, or after some bytes of its body.
struct Point {
  bool before_head = false;
  std::size_t body_bytes = 0;
  bool operator==(const Point&) const = default;
};

struct Garbage {
  std::size_t bytes = 0;
  std::size_t after = 0;  // So many good bytes come first.
  bool operator==(const Garbage&) const = default;
};

enum class Malformed { no, framing, json };

struct Faults {
  std::optional<Point> cut{};    // The connection is closed there,
  std::optional<Point> reset{};  // reset there,
  std::optional<Point> stall{};  // or says nothing more.
  std::optional<Garbage> garbage{};
  Malformed malformed = Malformed::no;
  bool missing_ids = false;
  bool endless = false;
  bool operator==(const Faults&) const = default;
};

struct Reply {
  std::vector<std::string> thinking{};  // Thoughts before the text, in pieces.
  std::vector<std::string> text{};      // The pieces that a stream brings one by one.
  std::vector<ScriptedToolCall> tool_calls{};
  std::optional<std::string> refusal{};
  std::optional<ScriptedUsage> usage{};
  std::optional<std::string> finish_reason{};  // The contract's word, or the provider's.
  std::optional<std::string> model{};
  std::optional<ScriptedError> error{};  // With text: after the text, when it is a stream.
  std::optional<std::string> body{};     // Exactly these bytes, whatever was asked.
  std::optional<std::string> content_type{};
  std::optional<int> status{};
  Headers headers{};
  std::chrono::milliseconds delay{0};        // Before the first byte.
  std::chrono::milliseconds chunk_delay{0};  // Before each piece of a stream but the first.
  std::size_t chunk_size = 0;                // Bytes a piece; 0: as they come.
  Faults faults{};
  int times = 1;  // How often in a row.
  bool operator==(const Reply&) const = default;
};

// All that are given have to hold. `*` in a pattern stands for any text, `?` for one byte.
struct Condition {
  std::vector<std::string> user_contains{};  // One of them, in the last user text, in any case.
  std::optional<std::string> user{};         // A pattern for all of it.
  std::optional<std::string> model{};        // A pattern.
  std::optional<std::string> path{};         // A pattern.
  std::optional<std::int64_t> call{};        // The number of the call, from 1.
  std::optional<bool> stream{};
  std::optional<bool> file{};          // The last user text names a file.
  std::optional<bool> tools{};         // Tools are offered.
  std::optional<bool> tool_results{};  // The request ends with results of tools.
  bool operator==(const Condition&) const = default;
};

struct Rule {
  Condition when{};
  Reply reply{};
  std::optional<int> times{};  // Holds so often; absent: always.
  bool operator==(const Rule&) const = default;
};

struct Script {
  std::optional<std::string> key{};   // What callers have to present.
  std::vector<std::string> models{};  // What the list of models shows.
  Headers headers{};                  // On every answer.
  std::vector<Rule> rules{};          // The first that holds answers;
  std::vector<Reply> replies{};       // else these do, one after the other.
  bool loop = false;                  // Begin again after the last, which else repeats.
  bool operator==(const Script&) const = default;

  // Without any answer of its own: the built-in one answers.
  bool is_empty() const { return rules.empty() && replies.empty(); }
};

// All that is wrong with it, in the order of the file.
std::expected<Script, std::vector<Diagnostic>> read_script(std::string_view yaml);

}  // namespace treaty::backends
