// OpenAI's Responses: an answer is a list of items; a stream ends with an event that repeats it
// whole.
#include "treaty/backends/protocols/outgoing.h"
#include "treaty/backends/protocols/request_parts.h"
#include "treaty/http/event_stream.h"
#include "treaty/results/usage.h"

namespace treaty::backends {
namespace {

using json::find_member;
using json::find_text;

bool is_call(std::string_view type) {
  return type == "function_call" || type == "custom_tool_call";
}

std::string_view call_id(std::optional<json::Value> item) {
  const std::string_view id = find_text(item, "call_id");
  return id.empty() ? find_text(item, "id") : id;
}

void read_message_item(results::Answer& answer, json::Value item) {
  const auto content = find_member(item, "content");
  if (!content) return;
  if (!content->is_array()) return append_content(answer.content, content);
  for (const json::Value part : content->elements()) {
    const std::string_view type = find_text(part, "type");
    if (type == "refusal") answer.refusal.append(find_text(part, "refusal"));
    if (type == "output_text" || type == "text") answer.content.append(find_text(part, "text"));
  }
}

// What the provider runs itself (web_search_call, mcp_call…) and reasoning are not for the caller.
void read_item(results::Answer& answer, json::Value item) {
  const std::string_view type = find_text(item, "type");
  if (type == "message") read_message_item(answer, item);
  if (!is_call(type)) return;
  const bool custom = type == "custom_tool_call";
  answer.tool_calls.push_back(tool_call(call_id(item), find_text(item, "name"),
                                        find_member(item, custom ? "input" : "arguments")));
}

void read_status(results::Answer& answer, json::Value response, std::string_view whole) {
  const std::string_view status = find_text(response, "status");
  answer.finish_reason_raw = status;
  const auto output = find_member(response, "output");
  const bool readable = !output || output->is_array();
  answer.complete = readable && status != "queued" && status != "in_progress";
  if (status == "incomplete") {
    const std::string_view reason =
        find_text(find_member(response, "incomplete_details"), "reason");
    if (!reason.empty()) answer.finish_reason_raw = reason;
  }
  if (status == "failed" || find_member(response, "error")) note_error(answer, whole);
}

// `whole` is the text to classify when the response tells of an error.
void read_response(results::Answer& answer, json::Value response, std::string_view whole) {
  note_model(answer, find_text(response, "model"));
  const auto usage = find_member(response, "usage");
  if (usage && usage->is_object()) {
    answer.usage = results::read_openai_usage(*usage);
    answer.cost = results::read_provider_cost(*usage);
  }
  for (const json::Value item : json::elements_of(find_member(response, "output"))) {
    read_item(answer, item);
  }
  read_status(answer, response, whole);
}

results::Answer parse_response(std::string_view body) {
  results::Answer answer;
  const json::Document document(body, wire_reading());
  const auto root = document.root();
  if (!root || !root->is_object()) return answer;
  if (!find_member(root, "output") && !find_member(root, "status") && !find_member(root, "error")) {
    return answer;
  }
  read_response(answer, *root, body);
  return answer;
}

// The last event repeats the answer, so that it is read like an unstreamed one. Where a provider
// leaves the items out of it, those of the stream stay.
void read_terminal(StreamedAnswer& state, json::Value root, std::string_view data) {
  results::Answer last;
  last.model = state.answer.model;
  const auto response = find_member(root, "response");
  if (response) read_response(last, *response, data);
  if (find_text(root, "type") == "response.failed") note_error(last, data);
  if (last.content.empty() && last.refusal.empty() && last.tool_calls.empty()) {
    put_in_order(state);
    last.content = std::move(state.answer.content);
    last.refusal = std::move(state.answer.refusal);
    last.tool_calls = std::move(state.answer.tool_calls);
  }
  if (!last.usage) last.usage = state.answer.usage;
  last.complete = true;
  state.ended = true;
  state.open_calls.clear();
  state.answer = std::move(last);
}

// An item begins, or is whole: then it has its arguments, which need not have come in pieces.
void add_item(StreamedAnswer& state, json::Value root) {
  const auto item = find_member(root, "item");
  const std::string_view type = find_text(item, "type");
  if (type == "message" && state.answer.content.empty() && state.answer.refusal.empty()) {
    read_message_item(state.answer, *item);
  }
  if (!is_call(type)) return;
  contracts::AgentToolCall* call = open_tool_call(state, find_integer(root, "output_index"),
                                                  call_id(item), find_text(item, "name"));
  const auto arguments =
      arguments_text(find_member(item, type == "function_call" ? "arguments" : "input"));
  if (call != nullptr && !arguments.empty()) call->arguments = arguments;
}

// A text that is whole: for providers that send no pieces of it.
void add_whole_text(StreamedAnswer& state, json::Value root) {
  if (state.answer.content.empty()) state.answer.content = find_text(root, "text");
}

void parse_event(StreamedAnswer& state, std::string_view name, std::string_view data) {
  if (data == "[DONE]") return;  // Some add it; it says nothing here.
  const auto root = read_event(state, data);
  if (!root) return;
  std::string_view type = find_text(root, "type");
  if (type.empty()) type = name;
  if (type == "response.output_text.delta") {
    state.answer.content.append(find_text(root, "delta"));
  } else if (type == "response.refusal.delta") {
    state.answer.refusal.append(find_text(root, "delta"));
  } else if (type == "response.output_item.added" || type == "response.output_item.done") {
    add_item(state, *root);
  } else if (type == "response.output_text.done") {
    add_whole_text(state, *root);
  } else if (type == "response.function_call_arguments.delta" ||
             type == "response.custom_tool_call_input.delta") {
    append_arguments(state, find_integer(root, "output_index"), find_text(root, "delta"));
  } else if (type == "response.completed" || type == "response.incomplete" ||
             type == "response.failed" || type == "response.cancelled") {
    read_terminal(state, *root, data);
  } else if (type == "error" || find_member(root, "error")) {
    note_error(state.answer, data);
  } else {
    note_model(state.answer, find_text(find_member(root, "response"), "model"));
  }
}

// The provider's side: what the functions above read, written.

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
  writer.name("output_tokens_details").begin_object().member("reasoning_tokens", 0).end_object();
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

void write_output(json::Writer& writer, const OutgoingAnswer& outgoing) {
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

std::string write_answer(const OutgoingAnswer& outgoing) {
  json::Writer writer;
  write_response(writer, outgoing, true);
  return writer.take();
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

std::vector<StreamFrame> write_stream(const OutgoingAnswer& outgoing) {
  StreamWriter stream(outgoing);
  stream.response("response.created", false);
  stream.response("response.in_progress", false);
  if (has_message(outgoing)) stream.message();
  for (const OutgoingToolCall& call : outgoing.tool_calls) stream.call(call);
  const std::string_view status = outcome_of(outgoing).status;
  stream.response(std::string("response.").append(status == "cancelled" ? "failed" : status), true);
  return stream.take();
}

}  // namespace

const Protocol& responses() {
  static constexpr Protocol kProtocol = {.name = "responses",
                                         .render_request = render_responses,
                                         .fixed_path = "/responses",
                                         .parse_response = parse_response,
                                         .parse_event = parse_event,
                                         .read_request = read_responses,
                                         .write_answer = write_answer,
                                         .write_stream = write_stream,
                                         .ids = {"resp_", "msg_", "call_"}};
  return kProtocol;
}

}  // namespace treaty::backends
