// Anthropic's messages.
#include <algorithm>

#include "treaty/base/json_write.h"
#include "treaty/http/event_stream.h"
#include "treaty/mock/wires/wire.h"

namespace treaty::mock {
namespace {

std::string_view raw_finish(std::string_view reason) {
  if (reason == "stop") return "end_turn";
  if (reason == "length") return "max_tokens";
  if (reason == "content_filter") return "refusal";
  return reason;
}

// Anthropic's input_tokens are those that no cache had.
void write_usage(json::Writer& writer, const SpokenUsage& usage, std::int64_t output) {
  const std::int64_t fresh = usage.input - usage.cache_read - usage.cache_write;
  writer.name("usage").begin_object().member("input_tokens", std::max<std::int64_t>(fresh, 0));
  writer.member("cache_creation_input_tokens", usage.cache_write);
  writer.member("cache_read_input_tokens", usage.cache_read);
  writer.member("output_tokens", output).member("service_tier", "standard").end_object();
}

void begin_message(json::Writer& writer, const Spoken& spoken) {
  writer.begin_object();
  if (spoken.with_ids) writer.member("id", spoken.id);
  writer.member("type", "message").member("role", "assistant").member("model", spoken.model);
  writer.name("content").begin_array();
}

// A text block's words: a refusal is text here.
std::string whole_text(const Spoken& spoken) { return spoken.text() + spoken.refusal; }

void write_tool_use(json::Writer& writer, const Spoken& spoken, const SpokenToolCall& call,
                    std::string_view input) {
  writer.begin_object().member("type", "tool_use");
  if (spoken.with_ids) writer.member("id", call.id);
  writer.member("name", call.name).name("input").raw(input).end_object();
}

std::string render(const Spoken& spoken) {
  json::Writer writer;
  begin_message(writer, spoken);
  if (!spoken.pieces.empty() || !spoken.refusal.empty()) {
    writer.begin_object().member("type", "text").member("text", whole_text(spoken)).end_object();
  }
  for (const SpokenToolCall& call : spoken.tool_calls) {
    write_tool_use(writer, spoken, call, object_or_empty(call.arguments));
  }
  writer.end_array().member("stop_reason", raw_finish(spoken.finish_reason));
  writer.name("stop_sequence").null();
  write_usage(writer, spoken.usage, spoken.usage.output);
  return writer.end_object().take();
}

std::string render_error(const SpokenError& error) {
  json::Writer writer;
  writer.begin_object().member("type", "error").name("error").begin_object();
  writer.member("type", error.type).member("message", error.message).end_object();
  return writer.member("request_id", error.request_id).end_object().take();
}

// `write_rest` writes what stands beside the type.
template <class WriteRest>
std::string event(std::string_view type, const WriteRest& write_rest) {
  json::Writer writer;
  writer.begin_object().member("type", type);
  write_rest(writer);
  return http::event_bytes(type, writer.end_object().take());
}

std::string start_event(const Spoken& spoken) {
  return event("message_start", [&](json::Writer& writer) {
    writer.name("message");
    begin_message(writer, spoken);
    writer.end_array().name("stop_reason").null().name("stop_sequence").null();
    write_usage(writer, spoken.usage, 1);
    writer.end_object();
  });
}

// One block: its start, its deltas, its stop.
template <class WriteStart>
void add_block(std::vector<Frame>& frames, int index, const WriteStart& write_start,
               std::string_view delta_type, std::string_view delta_name,
               const std::vector<std::string>& pieces) {
  frames.push_back({event("content_block_start", [&](json::Writer& writer) {
    writer.member("index", index).name("content_block");
    write_start(writer);
  })});
  if (index == 0) frames.push_back({event("ping", [](json::Writer&) {})});
  for (const std::string& piece : pieces) {
    const auto write = [&](json::Writer& writer) {
      writer.member("index", index).name("delta").begin_object();
      writer.member("type", delta_type).member(delta_name, piece).end_object();
    };
    frames.push_back({event("content_block_delta", write), delta_type == "text_delta"});
  }
  frames.push_back(
      {event("content_block_stop", [&](json::Writer& writer) { writer.member("index", index); })});
}

std::vector<Frame> render_stream(const Spoken& spoken) {
  std::vector<Frame> frames;
  frames.push_back({start_event(spoken)});
  int index = 0;
  std::vector<std::string> texts = spoken.pieces;
  if (!spoken.refusal.empty()) texts.push_back(spoken.refusal);
  if (!texts.empty()) {
    const auto start = [](json::Writer& writer) {
      writer.begin_object().member("type", "text").member("text", "").end_object();
    };
    add_block(frames, index++, start, "text_delta", "text", texts);
  }
  for (const SpokenToolCall& call : spoken.tool_calls) {
    const auto start = [&](json::Writer& writer) { write_tool_use(writer, spoken, call, "{}"); };
    add_block(frames, index++, start, "input_json_delta", "partial_json",
              argument_pieces(call.arguments));
  }
  if (spoken.error) {
    frames.push_back({http::event_bytes("error", render_error(*spoken.error))});
    return frames;
  }
  frames.push_back({event("message_delta", [&](json::Writer& writer) {
    writer.name("delta").begin_object();
    writer.member("stop_reason", raw_finish(spoken.finish_reason));
    writer.name("stop_sequence").null().end_object();
    write_usage(writer, spoken.usage, spoken.usage.output);
  })});
  frames.push_back({event("message_stop", [](json::Writer&) {})});
  return frames;
}

}  // namespace

const Wire& messages_wire() {
  static constexpr Wire kWire{.render = render,
                              .render_stream = render_stream,
                              .render_error = render_error,
                              .request_id_header = "request-id"};
  return kWire;
}

}  // namespace treaty::mock
