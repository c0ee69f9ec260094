// Gemini's generateContent and streamGenerateContent.
#include "treaty/base/json_write.h"
#include "treaty/http/event_stream.h"
#include "treaty/mock/wires/wire.h"

namespace treaty::mock {
namespace {

std::string_view raw_finish(std::string_view reason) {
  if (reason == "stop" || reason == "tool_use") return "STOP";
  if (reason == "length") return "MAX_TOKENS";
  if (reason == "content_filter") return "SAFETY";
  return reason;
}

void write_call(json::Writer& writer, const SpokenToolCall& call) {
  writer.begin_object().name("functionCall").begin_object().member("name", call.name);
  writer.name("args").raw(object_or_empty(call.arguments)).end_object().end_object();
}

void write_text(json::Writer& writer, std::string_view text) {
  writer.begin_object().member("text", text).end_object();
}

// A whole answer or a chunk of one: `write_parts` writes the parts; no finish: it goes on.
template <class WriteParts>
std::string answer(const Spoken& spoken, std::string_view finish, const WriteParts& write_parts) {
  json::Writer writer;
  writer.begin_object().name("candidates").begin_array().begin_object();
  writer.name("content").begin_object().name("parts").begin_array();
  write_parts(writer);
  writer.end_array().member("role", "model").end_object();
  if (!finish.empty()) writer.member("finishReason", finish);
  writer.member("index", 0).end_object().end_array();
  writer.name("usageMetadata").begin_object().member("promptTokenCount", spoken.usage.input);
  if (!finish.empty()) writer.member("candidatesTokenCount", spoken.usage.output);
  writer.member("totalTokenCount", spoken.usage.input + (finish.empty() ? 0 : spoken.usage.output));
  if (spoken.usage.cache_read > 0) {
    writer.member("cachedContentTokenCount", spoken.usage.cache_read);
  }
  writer.end_object().member("modelVersion", spoken.model);
  if (spoken.with_ids) writer.member("responseId", spoken.id);
  return writer.end_object().take();
}

std::string render(const Spoken& spoken) {
  return answer(spoken, raw_finish(spoken.finish_reason), [&](json::Writer& writer) {
    const std::string text = spoken.text() + spoken.refusal;
    if (!text.empty() || spoken.tool_calls.empty()) write_text(writer, text);
    for (const SpokenToolCall& call : spoken.tool_calls) write_call(writer, call);
  });
}

std::string render_error(const SpokenError& error) {
  json::Writer writer;
  writer.begin_object().name("error").begin_object().member("code", error.status);
  writer.member("message", error.message).member("status", error.type).end_object();
  return writer.end_object().take();
}

std::vector<Frame> render_stream(const Spoken& spoken) {
  std::vector<Frame> frames;
  const auto add = [&](const std::string& json, bool is_text) {
    const std::string_view opening = frames.empty() ? "[" : ",\r\n";
    frames.push_back({spoken.json_array ? std::string(opening) + json : http::event_bytes("", json),
                      is_text && !frames.empty()});
  };
  for (const std::string& piece : spoken.pieces) {
    add(answer(spoken, "", [&](json::Writer& writer) { write_text(writer, piece); }), true);
  }
  if (spoken.error) {
    add(render_error(*spoken.error), false);
  } else {
    add(answer(spoken, raw_finish(spoken.finish_reason),
               [&](json::Writer& writer) {
                 if (spoken.tool_calls.empty()) write_text(writer, spoken.refusal);
                 for (const SpokenToolCall& call : spoken.tool_calls) write_call(writer, call);
               }),
        false);
  }
  if (spoken.json_array) frames.push_back({"]"});
  return frames;
}

}  // namespace

const Wire& gemini_wire() {
  static constexpr Wire kWire{render, render_stream, render_error};
  return kWire;
}

}  // namespace treaty::mock
