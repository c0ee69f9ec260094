#include "treaty/backends/protocols/gemini_thoughts.h"

#include "treaty/base/json_write.h"

namespace treaty::backends {

std::string gemini_thought(json::Value signature, GeminiPart part) {
  json::Writer writer;
  writer.begin_object();
  if (part == GeminiPart::call) writer.name("functionCall").begin_object().end_object();
  if (part == GeminiPart::empty_text) writer.member("text", "");
  return writer.name("thoughtSignature").raw(signature.source()).end_object().take();
}

GeminiPart gemini_part_of(json::Value thought) {
  if (json::find_member(thought, "functionCall")) return GeminiPart::call;
  return json::find_member(thought, "text") ? GeminiPart::empty_text : GeminiPart::text;
}

}  // namespace treaty::backends
