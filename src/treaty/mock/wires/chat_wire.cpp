// Chat completions: what OpenAI and most others answer.
#include "treaty/base/json_write.h"
#include "treaty/http/event_stream.h"
#include "treaty/mock/wires/wire.h"

namespace treaty::mock {
namespace {

std::string_view raw_finish(std::string_view reason) {
  if (reason == "tool_use") return "tool_calls";
  return reason;
}

void write_usage(json::Writer& writer, const SpokenUsage& usage) {
  writer.begin_object().member("prompt_tokens", usage.input);
  writer.member("completion_tokens", usage.output);
  writer.member("total_tokens", usage.input + usage.output);
  writer.name("prompt_tokens_details").begin_object();
  writer.member("cached_tokens", usage.cache_read).member("audio_tokens", 0).end_object();
  writer.name("completion_tokens_details").begin_object();
  writer.member("reasoning_tokens", 0).member("audio_tokens", 0);
  writer.member("accepted_prediction_tokens", 0).member("rejected_prediction_tokens", 0);
  writer.end_object().end_object();
}

void begin_answer(json::Writer& writer, const Spoken& spoken, std::string_view object) {
  writer.begin_object();
  if (spoken.with_ids) writer.member("id", spoken.id);
  writer.member("object", object).member("created", spoken.created);
  writer.member("model", spoken.model);
}

void end_answer(json::Writer& writer) {
  writer.member("service_tier", "default").member("system_fingerprint", "fp_treaty_mock");
  writer.end_object();
}

void write_tool_call(json::Writer& writer, const Spoken& spoken, const SpokenToolCall& call,
                     std::string_view arguments) {
  if (spoken.with_ids) writer.member("id", call.id);
  writer.member("type", "function").name("function").begin_object();
  writer.member("name", call.name).member("arguments", arguments).end_object();
}

void write_message(json::Writer& writer, const Spoken& spoken) {
  writer.begin_object().member("role", "assistant").name("content");
  if (spoken.pieces.empty()) {
    writer.null();
  } else {
    writer.value(spoken.text());
  }
  if (!spoken.tool_calls.empty()) {
    writer.name("tool_calls").begin_array();
    for (const SpokenToolCall& call : spoken.tool_calls) {
      writer.begin_object();
      write_tool_call(writer, spoken, call, call.arguments);
      writer.end_object();
    }
    writer.end_array();
  }
  writer.name("refusal");
  if (spoken.refusal.empty()) {
    writer.null();
  } else {
    writer.value(spoken.refusal);
  }
  writer.name("annotations").begin_array().end_array().end_object();
}

std::string render(const Spoken& spoken) {
  json::Writer writer;
  begin_answer(writer, spoken, "chat.completion");
  writer.name("choices").begin_array().begin_object().member("index", 0).name("message");
  write_message(writer, spoken);
  writer.name("logprobs").null().member("finish_reason", raw_finish(spoken.finish_reason));
  writer.end_object().end_array().name("usage");
  write_usage(writer, spoken.usage);
  end_answer(writer);
  return writer.take();
}

// One chunk: `write_delta` writes what stands inside of the delta's braces.
template <class WriteDelta>
std::string chunk(const Spoken& spoken, std::string_view finish, const WriteDelta& write_delta) {
  json::Writer writer;
  begin_answer(writer, spoken, "chat.completion.chunk");
  writer.name("choices").begin_array().begin_object().member("index", 0);
  writer.name("delta").begin_object();
  write_delta(writer);
  writer.end_object().name("logprobs").null().name("finish_reason");
  if (finish.empty()) {
    writer.null();
  } else {
    writer.value(finish);
  }
  writer.end_object().end_array();
  if (spoken.include_usage) writer.name("usage").null();
  end_answer(writer);
  return http::event_bytes("", writer.take());
}

void add_tool_call(std::vector<Frame>& frames, const Spoken& spoken, std::size_t index) {
  const SpokenToolCall& call = spoken.tool_calls[index];
  const auto delta = [&](const auto& write_call) {
    frames.push_back({chunk(spoken, "", [&](json::Writer& writer) {
      writer.name("tool_calls").begin_array().begin_object().member("index", index);
      write_call(writer);
      writer.end_object().end_array();
    })});
  };
  delta([&](json::Writer& writer) { write_tool_call(writer, spoken, call, ""); });
  for (const std::string& piece : argument_pieces(call.arguments)) {
    delta([&](json::Writer& writer) {
      writer.name("function").begin_object().member("arguments", piece).end_object();
    });
  }
}

std::string usage_chunk(const Spoken& spoken) {
  json::Writer writer;
  begin_answer(writer, spoken, "chat.completion.chunk");
  writer.name("choices").begin_array().end_array().name("usage");
  write_usage(writer, spoken.usage);
  end_answer(writer);
  return http::event_bytes("", writer.take());
}

std::vector<Frame> render_stream(const Spoken& spoken) {
  std::vector<Frame> frames;
  frames.push_back({chunk(spoken, "", [](json::Writer& writer) {
    writer.member("role", "assistant").member("content", "").name("refusal").null();
  })});
  for (const std::string& piece : spoken.pieces) {
    const auto write = [&](json::Writer& writer) { writer.member("content", piece); };
    frames.push_back({chunk(spoken, "", write), true});
  }
  if (!spoken.refusal.empty()) {
    frames.push_back({chunk(
        spoken, "", [&](json::Writer& writer) { writer.member("refusal", spoken.refusal); })});
  }
  for (std::size_t i = 0; i < spoken.tool_calls.size(); ++i) add_tool_call(frames, spoken, i);
  if (spoken.error) {
    frames.push_back({http::event_bytes("", openai_error(*spoken.error))});
    return frames;
  }
  frames.push_back({chunk(spoken, raw_finish(spoken.finish_reason), [](json::Writer&) {})});
  if (spoken.include_usage) frames.push_back({usage_chunk(spoken)});
  frames.push_back({http::event_bytes("", "[DONE]")});
  return frames;
}

}  // namespace

const Wire& chat_wire() {
  static constexpr Wire kWire{render, render_stream, openai_error};
  return kWire;
}

}  // namespace treaty::mock
