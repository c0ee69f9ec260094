// A protocol is a wire: how a call becomes a request body and how an answer is read. Protocols are
// pure; who is called, and where, is a Provider's business.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "treaty/backends/call.h"
#include "treaty/base/json.h"
#include "treaty/results/answer.h"

namespace treaty::backends {

// How a provider's reading of a protocol differs from the plain one.
struct RequestStyle {
  std::string_view max_tokens_name = "max_tokens";  // OpenAI: max_completion_tokens.
  bool stream_usage = true;                         // Accepts stream_options.include_usage.
  bool json_schema = true;           // Accepts response_format json_schema; else json_object.
  bool developer_role = false;       // System text as role `developer`.
  bool model_in_body = true;         // Azure and Gemini name the model in the path.
  bool short_tool_call_ids = false;  // Mistral: nine letters or digits.
};

// The state of an answer that is being streamed: the answer so far, and what only the wire needs.
struct StreamedAnswer {
  struct OpenToolCall {  // Which entry of answer.tool_calls an index or an id of the wire means.
    long long index = -1;
    std::string id{};
    std::size_t position = 0;
  };

  results::Answer answer{};
  json::Document document{};  // Where every event is read; kept for its memory.
  std::vector<OpenToolCall> open_calls{};
  bool any = false;     // An event came that is part of an answer.
  bool ended = false;   // The last event came: what follows is not looked at.
  bool broken = false;  // An event could not be read, and neither can the answer.
};

enum class Framing { event_stream, json_lines };

struct Protocol {
  std::string_view name;  // "chat_completions".
  Framing framing = Framing::event_stream;

  // The body of the HTTP request.
  std::string (*render_request)(const Call& call, const RequestStyle& style) = nullptr;

  // Path and query below the provider's base URL, for providers without one of their own.
  std::string (*path)(const Call& call) = nullptr;

  // A whole, unstreamed answer. Not complete when the body cannot be read.
  results::Answer (*parse_response)(std::string_view body) = nullptr;

  // One event of a stream, or one line. Text that belongs to the content is appended to
  // state.answer.content.
  void (*parse_event)(StreamedAnswer& state, std::string_view name,
                      std::string_view data) = nullptr;
};

const Protocol& chat_completions();
const Protocol& completions();  // The legacy one.
const Protocol& responses();
const Protocol& anthropic_messages();
const Protocol& gemini();
const Protocol& ollama_native();

// By the name above or the one that recordings use (messages, generate_content); null when unknown.
const Protocol* find_protocol(std::string_view name);

}  // namespace treaty::backends
