// The provider's side of a protocol: an answer with everything decided, ready to be written as the
// bytes of a body or of a stream. `treaty mock` and endpoints that speak a provider's protocol use
// it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/base/json_write.h"

namespace treaty::backends {

struct Protocol;

struct OutgoingToolCall {
  std::string id;
  std::string item_id;  // Responses has two ids per call.
  std::string name;
  std::string arguments;
};

struct OutgoingUsage {
  std::int64_t input = 0;  // Includes cached tokens.
  std::int64_t output = 0;
  std::int64_t cache_read = 0;
  std::int64_t cache_write = 0;
  std::int64_t reasoning = 0;  // A part of the output.
};

// An error in the words of the provider.
struct OutgoingError {
  int status = 500;
  std::string type{};
  std::optional<std::string> code{};
  std::string message{};
  std::string request_id{};
};

struct OutgoingAnswer {
  std::string id{};
  std::string message_id{};
  std::int64_t created = 0;  // Seconds since 1970.
  std::string model{};
  std::vector<std::string> thinking{};  // Thoughts before the text, in pieces, too.
  std::string thought_id{};             // Of Responses,
  std::string signature{};              // and what only the model can read.
  std::vector<std::string> pieces{};    // The text, in the pieces that a stream sends.
  std::string refusal{};
  std::vector<OutgoingToolCall> tool_calls{};
  std::string finish_reason{};  // `stop`, `length`, `tool_use`, `content_filter`, or a raw one.
  OutgoingUsage usage{};
  std::optional<OutgoingError> error{};  // Ends a stream that began well.
  bool with_ids = true;
  bool include_usage = false;  // Chat Completions: whether a stream ends with its usage.
  bool json_array = false;     // Gemini: a stream as a JSON array instead of events.

  std::string text() const;
  std::string thinking_text() const;
};

// A piece of a stream that is sent at once.
struct StreamFrame {
  std::string bytes;
  bool is_text = false;  // Carries text and may be repeated any number of times.
};

// The error that providers of this protocol send with a status. `model` is named where they name
// it.
OutgoingError usual_error(const Protocol& protocol, int status, std::string_view model);

// The writers of protocols whose readers stand in another file.
std::string write_chat_answer(const OutgoingAnswer& outgoing);
std::vector<StreamFrame> write_chat_stream(const OutgoingAnswer& outgoing);
std::string write_completions_answer(const OutgoingAnswer& outgoing);  // The legacy one.
std::vector<StreamFrame> write_completions_stream(const OutgoingAnswer& outgoing);
std::string write_responses_answer(const OutgoingAnswer& outgoing);
std::vector<StreamFrame> write_responses_stream(const OutgoingAnswer& outgoing);

// What the writers of several protocols share.

std::string openai_error(const OutgoingError& error);
std::vector<std::string> argument_pieces(std::string_view arguments);
std::string object_or_empty(std::string_view arguments);  // `{}` unless it is a JSON object.

}  // namespace treaty::backends
