// The legacy completions of OpenAI, which vLLM and others still serve: text only.
#include "treaty/base/json_write.h"
#include "treaty/http/event_stream.h"
#include "treaty/mock/wires/wire.h"

namespace treaty::mock {
namespace {

void write_usage(json::Writer& writer, const SpokenUsage& usage) {
  writer.name("usage").begin_object().member("prompt_tokens", usage.input);
  writer.member("completion_tokens", usage.output);
  writer.member("total_tokens", usage.input + usage.output).end_object();
}

void begin_answer(json::Writer& writer, const Spoken& spoken) {
  writer.begin_object();
  if (spoken.with_ids) writer.member("id", spoken.id);
  writer.member("object", "text_completion").member("created", spoken.created);
  writer.member("model", spoken.model).name("choices").begin_array();
}

void write_choice(json::Writer& writer, std::string_view text, std::string_view finish) {
  writer.begin_object().member("text", text).member("index", 0).name("logprobs").null();
  writer.name("finish_reason");
  if (finish.empty()) {
    writer.null();
  } else {
    writer.value(finish);
  }
  writer.end_object();
}

std::string render(const Spoken& spoken) {
  json::Writer writer;
  begin_answer(writer, spoken);
  write_choice(writer, spoken.text(), spoken.finish_reason);
  writer.end_array();
  write_usage(writer, spoken.usage);
  return writer.end_object().take();
}

std::string chunk(const Spoken& spoken, std::string_view text, std::string_view finish) {
  json::Writer writer;
  begin_answer(writer, spoken);
  write_choice(writer, text, finish);
  return http::event_bytes("", writer.end_array().end_object().take());
}

std::vector<Frame> render_stream(const Spoken& spoken) {
  std::vector<Frame> frames;
  frames.reserve(spoken.pieces.size() + 4);
  for (const std::string& piece : spoken.pieces) {
    frames.push_back({chunk(spoken, piece, ""), true});
  }
  if (spoken.error) {
    frames.push_back({http::event_bytes("", openai_error(*spoken.error))});
    return frames;
  }
  frames.push_back({chunk(spoken, "", spoken.finish_reason)});
  if (spoken.include_usage) {
    json::Writer writer;
    begin_answer(writer, spoken);
    writer.end_array();
    write_usage(writer, spoken.usage);
    frames.push_back({http::event_bytes("", writer.end_object().take())});
  }
  frames.push_back({http::event_bytes("", "[DONE]")});
  return frames;
}

}  // namespace

const Wire& completions_wire() {
  static constexpr Wire kWire{render, render_stream, openai_error};
  return kWire;
}

}  // namespace treaty::mock
