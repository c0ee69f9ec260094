// Ollama's own chat: lines of JSON.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include "treaty/base/json_write.h"
#include "treaty/mock/wires/wire.h"

namespace treaty::mock {
namespace {

// One line; `calls` are given in the line before the last.
std::string line(const Spoken& spoken, std::string_view text, bool with_calls, bool done) {
  json::Writer writer;
  const auto time = static_cast<std::time_t>(spoken.created);
  writer.begin_object().member("model", spoken.model);
  writer.member("created_at", fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", fmt::gmtime(time)));
  writer.name("message").begin_object().member("role", "assistant").member("content", text);
  if (with_calls && !spoken.tool_calls.empty()) {
    writer.name("tool_calls").begin_array();
    for (const SpokenToolCall& call : spoken.tool_calls) {
      writer.begin_object().name("function").begin_object().member("name", call.name);
      writer.name("arguments").raw(object_or_empty(call.arguments)).end_object().end_object();
    }
    writer.end_array();
  }
  writer.end_object();
  if (done) {
    const bool is_call = spoken.finish_reason == "tool_use";
    writer.member("done_reason", is_call ? "stop" : std::string_view(spoken.finish_reason));
  }
  writer.member("done", done);
  if (done) {
    writer.member("total_duration", 1'000'000).member("load_duration", 100'000);
    writer.member("prompt_eval_count", spoken.usage.input).member("prompt_eval_duration", 100'000);
    writer.member("eval_count", spoken.usage.output).member("eval_duration", 800'000);
  }
  return writer.end_object().take() + "\n";
}

std::string render(const Spoken& spoken) {
  return line(spoken, spoken.text() + spoken.refusal, true, true);
}

std::string render_error(const SpokenError& error) {
  json::Writer writer;
  return writer.begin_object().member("error", error.message).end_object().take();
}

std::vector<Frame> render_stream(const Spoken& spoken) {
  std::vector<Frame> frames;
  frames.reserve(spoken.pieces.size() + 4);
  for (const std::string& piece : spoken.pieces) {
    frames.push_back({line(spoken, piece, false, false), true});
  }
  if (!spoken.refusal.empty()) frames.push_back({line(spoken, spoken.refusal, false, false)});
  if (!spoken.tool_calls.empty()) frames.push_back({line(spoken, "", true, false)});
  frames.push_back(
      {spoken.error ? render_error(*spoken.error) + "\n" : line(spoken, "", false, true)});
  return frames;
}

}  // namespace

const Wire& ollama_wire() {
  static constexpr Wire kWire{.render = render,
                              .render_stream = render_stream,
                              .render_error = render_error,
                              .stream_type = "application/x-ndjson"};
  return kWire;
}

}  // namespace treaty::mock
