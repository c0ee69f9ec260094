#include "treaty/backends/protocols/gemini_thoughts.h"

#include <cstdint>

#include "treaty/backends/protocols/wire.h"
#include "treaty/base/json_write.h"

namespace treaty::backends {

std::string gemini_text_thought(json::Value signature, std::string_view text) {
  json::Writer writer;
  writer.begin_object();
  if (text.empty()) {
    writer.member("text", "");
  } else {
    writer.member(kSignedBytes, static_cast<std::int64_t>(text.size()));
  }
  return writer.name("thoughtSignature").raw(signature.source()).end_object().take();
}

std::string gemini_call_thought(json::Value signature) {
  json::Writer writer;
  writer.begin_object().name("functionCall").begin_object().end_object();
  return writer.name("thoughtSignature").raw(signature.source()).end_object().take();
}

GeminiPart gemini_part_of(json::Value thought) {
  if (json::find_member(thought, "functionCall")) return GeminiPart::call;
  if (is_true(json::find_member(thought, "thought"))) return GeminiPart::thought;
  return json::find_member(thought, "text") ? GeminiPart::empty_text : GeminiPart::text;
}

}  // namespace treaty::backends
