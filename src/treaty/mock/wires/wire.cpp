#include "treaty/mock/wires/wire.h"

#include "treaty/base/json.h"
#include "treaty/base/json_write.h"

namespace treaty::mock {
namespace {

constexpr std::size_t kArgumentPiece = 12;

bool is_inside_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

}  // namespace

const Wire& wire_of(Endpoint endpoint) {
  switch (endpoint) {
    case Endpoint::completions: return completions_wire();
    case Endpoint::responses: return responses_wire();
    case Endpoint::messages: return messages_wire();
    case Endpoint::generate_content: return gemini_wire();
    case Endpoint::ollama_chat: return ollama_wire();
    case Endpoint::chat_completions:
    case Endpoint::models: break;
  }
  return chat_wire();
}

std::string openai_error(const SpokenError& error) {
  json::Writer writer;
  writer.begin_object().name("error").begin_object();
  writer.member("message", error.message).member("type", error.type).name("param").null();
  if (error.code) {
    writer.member("code", *error.code);
  } else {
    writer.name("code").null();
  }
  writer.end_object().end_object();
  return writer.take();
}

std::vector<std::string> argument_pieces(std::string_view arguments) {
  std::vector<std::string> pieces;
  while (!arguments.empty()) {
    std::size_t size = std::min(kArgumentPiece, arguments.size());
    while (size < arguments.size() && is_inside_character(arguments[size])) ++size;
    pieces.emplace_back(arguments.substr(0, size));
    arguments.remove_prefix(size);
  }
  return pieces;
}

std::string object_or_empty(std::string_view arguments) {
  return json::type_of_json(arguments) == json::Type::object ? std::string(arguments) : "{}";
}

}  // namespace treaty::mock
