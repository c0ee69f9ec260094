// The provider's side of a protocol: an answer as the bytes of its body. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "treaty/mock/endpoint.h"
#include "treaty/mock/spoken.h"

namespace treaty::mock {

// A piece of a stream that is sent as one.
struct Frame {
  std::string bytes;
  bool is_text = false;  // Brings text, and may come any number of times.
};

struct Wire {
  std::string (*render)(const Spoken& spoken);
  std::vector<Frame> (*render_stream)(const Spoken& spoken);
  std::string (*render_error)(const SpokenError& error);
  std::string_view stream_type = "text/event-stream; charset=utf-8";
  std::string_view request_id_header = "x-request-id";
};

// Of every endpoint but the list of models, which is told in errors like chat completions.
const Wire& wire_of(Endpoint endpoint);

const Wire& chat_wire();
const Wire& completions_wire();
const Wire& responses_wire();
const Wire& messages_wire();
const Wire& gemini_wire();
const Wire& ollama_wire();

// What more than one of them needs.
std::string openai_error(const SpokenError& error);
std::vector<std::string> argument_pieces(std::string_view arguments);
std::string object_or_empty(std::string_view arguments);  // `{}` unless it is a JSON object.

}  // namespace treaty::mock
