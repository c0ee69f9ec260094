// OpenAI's responses.
#include <functional>

#include "treaty/base/json_write.h"
#include "treaty/http/event_stream.h"
#include "treaty/mock/wires/wire.h"

namespace treaty::mock {
namespace {

struct Outcome {
  std::string_view status;
  std::string_view incomplete_reason;  // Empty: it is not incomplete.
};

Outcome outcome_of(const Spoken& spoken) {
  if (spoken.error) return {"failed", ""};
  if (spoken.finish_reason == "length" || spoken.finish_reason == "max_output_tokens") {
    return {"incomplete", "max_output_tokens"};
  }
  // A refusal is content of its own kind; the answer is complete.
  if (spoken.finish_reason == "content_filter" && spoken.refusal.empty()) {
    return {"incomplete", "content_filter"};
  }
  if (spoken.finish_reason == "failed" || spoken.finish_reason == "cancelled") {
    return {spoken.finish_reason, ""};
  }
  return {"completed", ""};
}

bool has_message(const Spoken& spoken) { return !spoken.pieces.empty() || !spoken.refusal.empty(); }

void write_usage(json::Writer& writer, const SpokenUsage& usage) {
  writer.begin_object().member("input_tokens", usage.input);
  writer.name("input_tokens_details").begin_object();
  writer.member("cached_tokens", usage.cache_read).end_object();
  writer.member("output_tokens", usage.output);
  writer.name("output_tokens_details").begin_object().member("reasoning_tokens", 0).end_object();
  writer.member("total_tokens", usage.input + usage.output).end_object();
}

void write_part(json::Writer& writer, const Spoken& spoken, bool whole) {
  writer.begin_object();
  if (!spoken.refusal.empty()) {
    writer.member("type", "refusal").member("refusal", whole ? spoken.refusal : "").end_object();
    return;
  }
  writer.member("type", "output_text").name("annotations").begin_array().end_array();
  writer.name("logprobs").begin_array().end_array();
  writer.member("text", whole ? spoken.text() : "").end_object();
}

void write_message(json::Writer& writer, const Spoken& spoken, bool whole) {
  writer.begin_object();
  if (spoken.with_ids) writer.member("id", spoken.message_id);
  writer.member("type", "message").member("status", whole ? "completed" : "in_progress");
  writer.name("content").begin_array();
  if (whole) write_part(writer, spoken, true);
  writer.end_array().member("role", "assistant").end_object();
}

void write_call(json::Writer& writer, const Spoken& spoken, const SpokenToolCall& call,
                bool whole) {
  writer.begin_object();
  if (spoken.with_ids) writer.member("id", call.item_id);
  writer.member("type", "function_call").member("status", whole ? "completed" : "in_progress");
  writer.member("arguments", whole ? call.arguments : "");
  if (spoken.with_ids) writer.member("call_id", call.id);
  writer.member("name", call.name).end_object();
}

void write_output(json::Writer& writer, const Spoken& spoken) {
  writer.name("output").begin_array();
  if (has_message(spoken)) write_message(writer, spoken, true);
  for (const SpokenToolCall& call : spoken.tool_calls) write_call(writer, spoken, call, true);
  writer.end_array();
}

// What every response repeats of its request, as the mock has it.
void write_settings(json::Writer& writer) {
  writer.member("parallel_tool_calls", true).name("previous_response_id").null();
  writer.name("reasoning").begin_object().name("effort").null().name("summary").null().end_object();
  writer.member("store", false).member("temperature", 1.0);
  writer.name("text").begin_object().name("format").begin_object().member("type", "text");
  writer.end_object().end_object().member("tool_choice", "auto");
  writer.name("tools").begin_array().end_array().member("top_p", 1.0);
  writer.member("truncation", "disabled");
}

// At its beginning a response has no output and no usage yet.
void write_response(json::Writer& writer, const Spoken& spoken, bool whole) {
  const Outcome outcome = whole ? outcome_of(spoken) : Outcome{"in_progress", ""};
  writer.begin_object();
  if (spoken.with_ids) writer.member("id", spoken.id);
  writer.member("object", "response").member("created_at", spoken.created);
  writer.member("status", outcome.status).member("background", false).name("error");
  if (whole && spoken.error) {
    writer.begin_object().member("code", spoken.error->code.value_or(spoken.error->type));
    writer.member("message", spoken.error->message).end_object();
  } else {
    writer.null();
  }
  writer.name("incomplete_details");
  if (outcome.incomplete_reason.empty()) {
    writer.null();
  } else {
    writer.begin_object().member("reason", outcome.incomplete_reason).end_object();
  }
  writer.name("instructions").null().name("max_output_tokens").null();
  writer.member("model", spoken.model);
  if (whole) {
    write_output(writer, spoken);
  } else {
    writer.name("output").begin_array().end_array();
  }
  write_settings(writer);
  writer.name("usage");
  if (whole && !spoken.error) {
    write_usage(writer, spoken.usage);
  } else {
    writer.null();
  }
  writer.name("user").null().name("metadata").begin_object().end_object().end_object();
}

std::string render(const Spoken& spoken) {
  json::Writer writer;
  write_response(writer, spoken, true);
  return writer.take();
}

// Writes the events of a stream and counts them.
class StreamWriter {
 public:
  explicit StreamWriter(const Spoken& spoken) : spoken_(spoken) {}

  std::vector<Frame> take() { return std::move(frames_); }

  void response(std::string_view type, bool whole) {
    event(type, [&](json::Writer& writer) {
      writer.name("response");
      write_response(writer, spoken_, whole);
    });
  }

  void message() {
    item("added", [&](json::Writer& writer) { write_message(writer, spoken_, false); });
    part("added", false);
    const bool is_refusal = !spoken_.refusal.empty();
    const std::string kind = is_refusal ? "response.refusal" : "response.output_text";
    const std::vector<std::string> refusal = {spoken_.refusal};
    for (const std::string& piece : is_refusal ? refusal : spoken_.pieces) {
      content(kind + ".delta", [&](json::Writer& writer) { writer.member("delta", piece); });
      frames_.back().is_text = !is_refusal;
    }
    content(kind + ".done", [&](json::Writer& writer) {
      writer.member(is_refusal ? "refusal" : "text", is_refusal ? spoken_.refusal : spoken_.text());
    });
    part("done", true);
    item("done", [&](json::Writer& writer) { write_message(writer, spoken_, true); });
    ++output_index_;
  }

  void call(const SpokenToolCall& call) {
    item("added", [&](json::Writer& writer) { write_call(writer, spoken_, call, false); });
    for (const std::string& piece : argument_pieces(call.arguments)) {
      arguments(call, "delta", piece);
    }
    arguments(call, "done", call.arguments);
    item("done", [&](json::Writer& writer) { write_call(writer, spoken_, call, true); });
    ++output_index_;
  }

 private:
  template <class WriteRest>
  void event(std::string_view type, const WriteRest& write_rest) {
    json::Writer writer;
    writer.begin_object().member("type", type).member("sequence_number", sequence_number_++);
    write_rest(writer);
    frames_.push_back({http::event_bytes(type, writer.end_object().take())});
  }

  template <class WriteItem>
  void item(std::string_view what, const WriteItem& write_item) {
    event(std::string("response.output_item.").append(what), [&](json::Writer& writer) {
      writer.member("output_index", output_index_).name("item");
      write_item(writer);
    });
  }

  template <class WriteRest>
  void content(const std::string& type, const WriteRest& write_rest) {
    event(type, [&](json::Writer& writer) {
      if (spoken_.with_ids) writer.member("item_id", spoken_.message_id);
      writer.member("output_index", output_index_).member("content_index", 0);
      write_rest(writer);
      if (type.starts_with("response.output_text")) {
        writer.name("logprobs").begin_array().end_array();
      }
    });
  }

  void part(std::string_view what, bool whole) {
    content(std::string("response.content_part.").append(what), [&](json::Writer& writer) {
      writer.name("part");
      write_part(writer, spoken_, whole);
    });
  }

  void arguments(const SpokenToolCall& call, std::string_view what, std::string_view text) {
    event(std::string("response.function_call_arguments.").append(what), [&](json::Writer& writer) {
      if (spoken_.with_ids) writer.member("item_id", call.item_id);
      writer.member("output_index", output_index_);
      writer.member(what == "delta" ? "delta" : "arguments", text);
    });
  }

  const Spoken& spoken_;
  std::vector<Frame> frames_{};
  int sequence_number_ = 0;
  int output_index_ = 0;
};

std::vector<Frame> render_stream(const Spoken& spoken) {
  StreamWriter stream(spoken);
  stream.response("response.created", false);
  stream.response("response.in_progress", false);
  if (has_message(spoken)) stream.message();
  for (const SpokenToolCall& call : spoken.tool_calls) stream.call(call);
  const std::string_view status = outcome_of(spoken).status;
  stream.response(std::string("response.").append(status == "cancelled" ? "failed" : status), true);
  return stream.take();
}

}  // namespace

const Wire& responses_wire() {
  static constexpr Wire kWire{render, render_stream, openai_error};
  return kWire;
}

}  // namespace treaty::mock
