// Answers of Chat Completions and of the legacy Completions, as a provider writes them.
#include "treaty/backends/protocols/outgoing.h"
#include "treaty/http/event_stream.h"

namespace treaty::backends {
namespace {

std::string_view raw_finish(std::string_view reason) {
  if (reason == "tool_use") return "tool_calls";
  return reason;
}

void write_usage(json::Writer& writer, const OutgoingUsage& usage) {
  writer.begin_object().member("prompt_tokens", usage.input);
  writer.member("completion_tokens", usage.output);
  writer.member("total_tokens", usage.input + usage.output);
  writer.name("prompt_tokens_details").begin_object();
  writer.member("cached_tokens", usage.cache_read).member("audio_tokens", 0).end_object();
  writer.name("completion_tokens_details").begin_object();
  writer.member("reasoning_tokens", usage.reasoning).member("audio_tokens", 0);
  writer.member("accepted_prediction_tokens", 0).member("rejected_prediction_tokens", 0);
  writer.end_object().end_object();
}

void begin_answer(json::Writer& writer, const OutgoingAnswer& outgoing, std::string_view object) {
  writer.begin_object();
  if (outgoing.with_ids) writer.member("id", outgoing.id);
  writer.member("object", object).member("created", outgoing.created);
  writer.member("model", outgoing.model);
}

void end_answer(json::Writer& writer) {
  writer.member("service_tier", "default").member("system_fingerprint", "fp_treaty_mock");
  writer.end_object();
}

void write_tool_call(json::Writer& writer, const OutgoingAnswer& outgoing,
                     const OutgoingToolCall& call, std::string_view arguments) {
  if (outgoing.with_ids) writer.member("id", call.id);
  writer.member("type", "function").name("function").begin_object();
  writer.member("name", call.name).member("arguments", arguments).end_object();
}

void write_message(json::Writer& writer, const OutgoingAnswer& outgoing) {
  writer.begin_object().member("role", "assistant").name("content");
  if (outgoing.pieces.empty()) {
    writer.null();
  } else {
    writer.value(outgoing.text());
  }
  if (!outgoing.thinking.empty()) {
    writer.member("reasoning_content", outgoing.thinking_text());
  }
  if (!outgoing.tool_calls.empty()) {
    writer.name("tool_calls").objects(outgoing.tool_calls, [&](const OutgoingToolCall& call) {
      write_tool_call(writer, outgoing, call, call.arguments);
    });
  }
  writer.member_or_null("refusal", outgoing.refusal);
  writer.name("annotations").begin_array().end_array().end_object();
}

// One chunk: `write_delta` writes what stands inside of the delta's braces.
template <class WriteDelta>
std::string chunk(const OutgoingAnswer& outgoing, std::string_view finish,
                  const WriteDelta& write_delta) {
  json::Writer writer;
  begin_answer(writer, outgoing, "chat.completion.chunk");
  writer.name("choices").begin_array().begin_object().member("index", 0);
  writer.name("delta").begin_object();
  write_delta(writer);
  writer.end_object().name("logprobs").null().member_or_null("finish_reason", finish);
  writer.end_object().end_array();
  if (outgoing.include_usage) writer.name("usage").null();
  end_answer(writer);
  return http::event_bytes("", writer.take());
}

void add_tool_call(std::vector<StreamFrame>& frames, const OutgoingAnswer& outgoing,
                   std::size_t index) {
  const OutgoingToolCall& call = outgoing.tool_calls[index];
  const auto delta = [&](const auto& write_call) {
    frames.push_back({chunk(outgoing, "", [&](json::Writer& writer) {
      writer.name("tool_calls").begin_array().begin_object().member("index", index);
      write_call(writer);
      writer.end_object().end_array();
    })});
  };
  delta([&](json::Writer& writer) { write_tool_call(writer, outgoing, call, ""); });
  for (const std::string& piece : argument_pieces(call.arguments)) {
    delta([&](json::Writer& writer) {
      writer.name("function").begin_object().member("arguments", piece).end_object();
    });
  }
}

std::string usage_chunk(const OutgoingAnswer& outgoing) {
  json::Writer writer;
  begin_answer(writer, outgoing, "chat.completion.chunk");
  writer.name("choices").begin_array().end_array().name("usage");
  write_usage(writer, outgoing.usage);
  end_answer(writer);
  return http::event_bytes("", writer.take());
}

// Legacy Completions: text only.

void write_text_usage(json::Writer& writer, const OutgoingUsage& usage) {
  writer.name("usage").begin_object().member("prompt_tokens", usage.input);
  writer.member("completion_tokens", usage.output);
  writer.member("total_tokens", usage.input + usage.output).end_object();
}

void begin_text_answer(json::Writer& writer, const OutgoingAnswer& outgoing) {
  begin_answer(writer, outgoing, "text_completion");
  writer.name("choices").begin_array();
}

void write_choice(json::Writer& writer, std::string_view text, std::string_view finish) {
  writer.begin_object().member("text", text).member("index", 0).name("logprobs").null();
  writer.member_or_null("finish_reason", finish).end_object();
}

std::string text_chunk(const OutgoingAnswer& outgoing, std::string_view text,
                       std::string_view finish) {
  json::Writer writer;
  begin_text_answer(writer, outgoing);
  write_choice(writer, text, finish);
  return http::event_bytes("", writer.end_array().end_object().take());
}

}  // namespace

std::string write_chat_answer(const OutgoingAnswer& outgoing) {
  json::Writer writer;
  begin_answer(writer, outgoing, "chat.completion");
  writer.name("choices").begin_array().begin_object().member("index", 0).name("message");
  write_message(writer, outgoing);
  writer.name("logprobs").null().member("finish_reason", raw_finish(outgoing.finish_reason));
  writer.end_object().end_array().name("usage");
  write_usage(writer, outgoing.usage);
  end_answer(writer);
  return writer.take();
}

std::vector<StreamFrame> write_chat_stream(const OutgoingAnswer& outgoing) {
  std::vector<StreamFrame> frames;
  frames.push_back({chunk(outgoing, "", [](json::Writer& writer) {
    writer.member("role", "assistant").member("content", "").name("refusal").null();
  })});
  for (const std::string& piece : outgoing.thinking) {
    const auto write = [&](json::Writer& writer) {
      writer.name("content").null().member("reasoning_content", piece);
    };
    frames.push_back({chunk(outgoing, "", write)});
  }
  for (const std::string& piece : outgoing.pieces) {
    const auto write = [&](json::Writer& writer) { writer.member("content", piece); };
    frames.push_back({chunk(outgoing, "", write), true});
  }
  if (!outgoing.refusal.empty()) {
    frames.push_back({chunk(
        outgoing, "", [&](json::Writer& writer) { writer.member("refusal", outgoing.refusal); })});
  }
  for (std::size_t i = 0; i < outgoing.tool_calls.size(); ++i) add_tool_call(frames, outgoing, i);
  if (outgoing.error) {
    frames.push_back({http::event_bytes("", openai_error(*outgoing.error))});
    return frames;
  }
  frames.push_back({chunk(outgoing, raw_finish(outgoing.finish_reason), [](json::Writer&) {})});
  if (outgoing.include_usage) frames.push_back({usage_chunk(outgoing)});
  frames.push_back({http::event_bytes("", "[DONE]")});
  return frames;
}

std::string write_completions_answer(const OutgoingAnswer& outgoing) {
  json::Writer writer;
  begin_text_answer(writer, outgoing);
  write_choice(writer, outgoing.text(), outgoing.finish_reason);
  writer.end_array();
  write_text_usage(writer, outgoing.usage);
  return writer.end_object().take();
}

std::vector<StreamFrame> write_completions_stream(const OutgoingAnswer& outgoing) {
  std::vector<StreamFrame> frames;
  frames.reserve(outgoing.pieces.size() + 4);
  for (const std::string& piece : outgoing.pieces) {
    frames.push_back({text_chunk(outgoing, piece, ""), true});
  }
  if (outgoing.error) {
    frames.push_back({http::event_bytes("", openai_error(*outgoing.error))});
    return frames;
  }
  frames.push_back({text_chunk(outgoing, "", outgoing.finish_reason)});
  if (outgoing.include_usage) {
    json::Writer writer;
    begin_text_answer(writer, outgoing);
    writer.end_array();
    write_text_usage(writer, outgoing.usage);
    frames.push_back({http::event_bytes("", writer.end_object().take())});
  }
  frames.push_back({http::event_bytes("", "[DONE]")});
  return frames;
}

}  // namespace treaty::backends
