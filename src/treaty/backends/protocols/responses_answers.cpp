// Answers of OpenAI's Responses, as the provider writes them.
#include "treaty/backends/protocols/outgoing.h"
#include "treaty/http/event_stream.h"

namespace treaty::backends {
namespace {

struct Outcome {
  std::string_view status;
  std::string_view incomplete_reason;  // Empty: it is not incomplete.
};

Outcome outcome_of(const OutgoingAnswer& outgoing) {
  if (outgoing.error) return {"failed", ""};
  if (outgoing.finish_reason == "length" || outgoing.finish_reason == "max_output_tokens") {
    return {"incomplete", "max_output_tokens"};
  }
  // A refusal is content of its own kind; the answer is complete.
  if (outgoing.finish_reason == "content_filter" && outgoing.refusal.empty()) {
    return {"incomplete", "content_filter"};
  }
  if (outgoing.finish_reason == "failed" || outgoing.finish_reason == "cancelled") {
    return {outgoing.finish_reason, ""};
  }
  return {"completed", ""};
}

bool has_message(const OutgoingAnswer& outgoing) {
  return !outgoing.pieces.empty() || !outgoing.refusal.empty();
}

void write_usage(json::Writer& writer, const OutgoingUsage& usage) {
  writer.begin_object().member("input_tokens", usage.input);
  writer.name("input_tokens_details").begin_object();
  writer.member("cached_tokens", usage.cache_read).end_object();
  writer.member("output_tokens", usage.output);
  writer.name("output_tokens_details")
      .begin_object()
      .member("reasoning_tokens", usage.reasoning)
      .end_object();
  writer.member("total_tokens", usage.input + usage.output).end_object();
}

void write_part(json::Writer& writer, const OutgoingAnswer& outgoing, bool whole) {
  writer.begin_object();
  if (!outgoing.refusal.empty()) {
    writer.member("type", "refusal").member("refusal", whole ? outgoing.refusal : "").end_object();
    return;
  }
  writer.member("type", "output_text").name("annotations").begin_array().end_array();
  writer.name("logprobs").begin_array().end_array();
  writer.member("text", whole ? outgoing.text() : "").end_object();
}

void write_message(json::Writer& writer, const OutgoingAnswer& outgoing, bool whole) {
  writer.begin_object();
  if (outgoing.with_ids) writer.member("id", outgoing.message_id);
  writer.member("type", "message").member("status", whole ? "completed" : "in_progress");
  writer.name("content").begin_array();
  if (whole) write_part(writer, outgoing, true);
  writer.end_array().member("role", "assistant").end_object();
}

void write_call(json::Writer& writer, const OutgoingAnswer& outgoing, const OutgoingToolCall& call,
                bool whole) {
  writer.begin_object();
  if (outgoing.with_ids) writer.member("id", call.item_id);
  writer.member("type", "function_call").member("status", whole ? "completed" : "in_progress");
  writer.member("arguments", whole ? call.arguments : "");
  if (outgoing.with_ids) writer.member("call_id", call.id);
  writer.member("name", call.name).end_object();
}

void write_thought(json::Writer& writer, const OutgoingAnswer& outgoing, bool whole) {
  writer.begin_object();
  if (outgoing.with_ids) writer.member("id", outgoing.thought_id);
  writer.member("type", "reasoning").member("encrypted_content", outgoing.signature);
  writer.name("summary").begin_array();
  if (whole) {
    writer.begin_object().member("type", "summary_text");
    writer.member("text", outgoing.thinking_text()).end_object();
  }
  writer.end_array().end_object();
}

void write_output(json::Writer& writer, const OutgoingAnswer& outgoing) {
  if (!outgoing.thinking.empty()) write_thought(writer, outgoing, true);
  if (has_message(outgoing)) write_message(writer, outgoing, true);
  for (const OutgoingToolCall& call : outgoing.tool_calls) write_call(writer, outgoing, call, true);
}

// What every response repeats of its request, as the mock has it.
void write_request_settings(json::Writer& writer) {
  writer.member("parallel_tool_calls", true).name("previous_response_id").null();
  writer.name("reasoning").begin_object().name("effort").null().name("summary").null().end_object();
  writer.member("store", false).member("temperature", 1.0);
  writer.name("text").begin_object().name("format").begin_object().member("type", "text");
  writer.end_object().end_object().member("tool_choice", "auto");
  writer.name("tools").begin_array().end_array().member("top_p", 1.0);
  writer.member("truncation", "disabled");
}

// At its beginning a response has no output and no usage yet.
void write_response(json::Writer& writer, const OutgoingAnswer& outgoing, bool whole) {
  const Outcome outcome = whole ? outcome_of(outgoing) : Outcome{"in_progress", ""};
  writer.begin_object();
  if (outgoing.with_ids) writer.member("id", outgoing.id);
  writer.member("object", "response").member("created_at", outgoing.created);
  writer.member("status", outcome.status).member("background", false).name("error");
  if (whole && outgoing.error) {
    writer.begin_object().member("code", outgoing.error->code.value_or(outgoing.error->type));
    writer.member("message", outgoing.error->message).end_object();
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
  writer.member("model", outgoing.model);
  writer.name("output").begin_array();
  if (whole) write_output(writer, outgoing);
  writer.end_array();
  write_request_settings(writer);
  if (whole && !outgoing.error) {
    write_usage(writer.name("usage"), outgoing.usage);
  } else {
    writer.name("usage").null();
  }
  writer.name("user").null().name("metadata").begin_object().end_object().end_object();
}

// Writes the events of a stream and counts them.
class StreamWriter {
 public:
  explicit StreamWriter(const OutgoingAnswer& outgoing) : outgoing_(outgoing) {}

  std::vector<StreamFrame> take() { return std::move(frames_); }

  void response(std::string_view type, bool whole) {
    event(type, [&](json::Writer& writer) {
      writer.name("response");
      write_response(writer, outgoing_, whole);
    });
  }

  void thought() {
    item("added", [&](json::Writer& writer) { write_thought(writer, outgoing_, false); });
    summary("part.added", [](json::Writer& writer) { write_summary(writer, ""); });
    for (const std::string& piece : outgoing_.thinking) {
      summary("text.delta", [&](json::Writer& writer) { writer.member("delta", piece); });
    }
    const std::string text = outgoing_.thinking_text();
    summary("text.done", [&](json::Writer& writer) { writer.member("text", text); });
    summary("part.done", [&](json::Writer& writer) { write_summary(writer, text); });
    item("done", [&](json::Writer& writer) { write_thought(writer, outgoing_, true); });
    ++output_index_;
  }

  void message() {
    item("added", [&](json::Writer& writer) { write_message(writer, outgoing_, false); });
    part("added", false);
    const bool is_refusal = !outgoing_.refusal.empty();
    const std::string kind = is_refusal ? "response.refusal" : "response.output_text";
    const std::vector<std::string> refusal = {outgoing_.refusal};
    for (const std::string& piece : is_refusal ? refusal : outgoing_.pieces) {
      content(kind + ".delta", [&](json::Writer& writer) { writer.member("delta", piece); });
      frames_.back().is_text = !is_refusal;
    }
    content(kind + ".done", [&](json::Writer& writer) {
      writer.member(is_refusal ? "refusal" : "text",
                    is_refusal ? outgoing_.refusal : outgoing_.text());
    });
    part("done", true);
    item("done", [&](json::Writer& writer) { write_message(writer, outgoing_, true); });
    ++output_index_;
  }

  void call(const OutgoingToolCall& call) {
    item("added", [&](json::Writer& writer) { write_call(writer, outgoing_, call, false); });
    for (const std::string& piece : argument_pieces(call.arguments)) {
      arguments(call, "delta", piece);
    }
    arguments(call, "done", call.arguments);
    item("done", [&](json::Writer& writer) { write_call(writer, outgoing_, call, true); });
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
      if (outgoing_.with_ids) writer.member("item_id", outgoing_.message_id);
      writer.member("output_index", output_index_).member("content_index", 0);
      write_rest(writer);
      if (type.starts_with("response.output_text")) {
        writer.name("logprobs").begin_array().end_array();
      }
    });
  }

  static void write_summary(json::Writer& writer, std::string_view text) {
    writer.name("part").begin_object().member("type", "summary_text");
    writer.member("text", text).end_object();
  }

  template <class WriteRest>
  void summary(std::string_view what, const WriteRest& write_rest) {
    event(std::string("response.reasoning_summary_").append(what), [&](json::Writer& writer) {
      if (outgoing_.with_ids) writer.member("item_id", outgoing_.thought_id);
      writer.member("output_index", output_index_).member("summary_index", 0);
      write_rest(writer);
    });
  }

  void part(std::string_view what, bool whole) {
    content(std::string("response.content_part.").append(what), [&](json::Writer& writer) {
      writer.name("part");
      write_part(writer, outgoing_, whole);
    });
  }

  void arguments(const OutgoingToolCall& call, std::string_view what, std::string_view text) {
    event(std::string("response.function_call_arguments.").append(what), [&](json::Writer& writer) {
      if (outgoing_.with_ids) writer.member("item_id", call.item_id);
      writer.member("output_index", output_index_);
      writer.member(what == "delta" ? "delta" : "arguments", text);
    });
  }

  const OutgoingAnswer& outgoing_;
  std::vector<StreamFrame> frames_{};
  int sequence_number_ = 0;
  int output_index_ = 0;
};

}  // namespace

std::string write_responses_answer(const OutgoingAnswer& outgoing) {
  json::Writer writer;
  write_response(writer, outgoing, true);
  return writer.take();
}

std::vector<StreamFrame> write_responses_stream(const OutgoingAnswer& outgoing) {
  StreamWriter stream(outgoing);
  stream.response("response.created", false);
  stream.response("response.in_progress", false);
  if (!outgoing.thinking.empty()) stream.thought();
  if (has_message(outgoing)) stream.message();
  for (const OutgoingToolCall& call : outgoing.tool_calls) stream.call(call);
  const std::string_view status = outcome_of(outgoing).status;
  stream.response(std::string("response.").append(status == "cancelled" ? "failed" : status), true);
  return stream.take();
}

}  // namespace treaty::backends
