// What a played provider says, with everything decided that a script may leave open: ids, usage,
// the pieces of a stream. The wires write it down.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/backends/scripted/script.h"
#include "treaty/mock/question.h"

namespace treaty::mock {

// Identifiers as providers make them. The same seed gives the same ones.
class Ids {
 public:
  explicit Ids(std::uint64_t seed) : random_(seed) {}

  std::string next(std::string_view prefix, std::size_t length);
  std::string bytes(std::size_t length);  // Any bytes, for garbage.

 private:
  std::mt19937_64 random_;
};

struct SpokenToolCall {
  std::string id;
  std::string item_id;  // Responses has two.
  std::string name;
  std::string arguments;
};

struct SpokenUsage {
  std::int64_t input = 0;  // Cached ones included.
  std::int64_t output = 0;
  std::int64_t cache_read = 0;
  std::int64_t cache_write = 0;
};

// An error in the words of the provider.
struct SpokenError {
  int status = 500;
  std::string type{};
  std::optional<std::string> code{};
  std::string message{};
  std::string request_id{};
};

struct Spoken {
  std::string id;
  std::string message_id;
  std::int64_t created = 0;  // Seconds since 1970.
  std::string model;
  std::vector<std::string> pieces{};
  std::string refusal{};
  std::vector<SpokenToolCall> tool_calls{};
  std::string finish_reason{};  // `stop`, `length`, `tool_use`, `content_filter`, or a raw one.
  SpokenUsage usage{};
  std::optional<SpokenError> error{};  // Ends a stream that began well.
  bool with_ids = true;
  bool include_usage = false;
  bool json_array = false;  // Gemini.

  std::string text() const;
};

Spoken speak(const backends::Reply& reply, const Question& question, Endpoint endpoint,
             std::int64_t now, Ids& ids);

SpokenError speak_error(const backends::ScriptedError& error, Endpoint endpoint,
                        std::string_view model, std::string request_id);

}  // namespace treaty::mock
