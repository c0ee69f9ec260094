// Anthropic's Messages: an answer is a list of blocks; a stream opens, fills and closes each.
#include <algorithm>

#include "treaty/backends/protocols/outgoing.h"
#include "treaty/backends/protocols/request_parts.h"
#include "treaty/http/event_stream.h"
#include "treaty/results/usage.h"

namespace treaty::backends {
namespace {

using json::find_member;
using json::find_text;

void read_usage(results::Answer& answer, std::optional<json::Value> usage) {
  if (usage && usage->is_object()) {
    answer.usage = results::read_anthropic_usage(*usage, answer.usage);
  }
}

void read_stop_reason(results::Answer& answer, std::optional<json::Value> object) {
  const std::string_view reason = find_text(object, "stop_reason");
  if (!reason.empty()) answer.finish_reason_raw = reason;
}

bool is_thought(std::string_view type) { return type == "thinking" || type == "redacted_thinking"; }

// Tools that the provider runs itself are not for the caller.
void read_block(results::Answer& answer, json::Value block) {
  const std::string_view type = find_text(block, "type");
  if (type == "text") answer.content.append(find_text(block, "text"));
  if (is_thought(type)) {
    add_thinking(answer, find_text(block, "thinking"));
    add_thought(answer, std::string(block.source()));
  }
  if (type != "tool_use") return;
  answer.tool_calls.push_back(
      tool_call(find_text(block, "id"), find_text(block, "name"), find_member(block, "input")));
}

results::Answer parse_response(std::string_view body) {
  results::Answer answer;
  const json::Document document(body, wire_reading());
  const auto root = document.root();
  if (!root || !root->is_object()) return answer;
  if (find_text(root, "type") == "error" || find_member(root, "error")) {
    note_error(answer, body);
    return answer;
  }
  const auto content = find_member(root, "content");
  answer.complete = content ? content->is_array() : find_member(root, "stop_reason").has_value();
  note_model(answer, find_text(root, "model"));
  read_usage(answer, find_member(root, "usage"));
  read_stop_reason(answer, root);
  for (const json::Value block : json::elements_of(content)) read_block(answer, block);
  answer.complete = answer.complete && has_allowed_thoughts(answer);
  return answer;
}

void start_thought(StreamedAnswer& state, std::int64_t index, json::Value block) {
  StreamedAnswer::OpenThought* open = open_thought(state, index);
  if (open == nullptr) return;
  open->object.join(block, {});
  count_thought(state, block.source().size());
  append_thinking(state, find_text(block, "thinking"));
}

void fill_thought(StreamedAnswer& state, json::Value root, std::string_view member,
                  std::string_view text) {
  StreamedAnswer::OpenThought* open =
      find_open_thought(state, find_integer(root, "index").value_or(0));
  if (open == nullptr) return;
  open->object.append(member, text);
  count_thought(state, text.size());
  if (member == "thinking") append_thinking(state, text);
}

void start_block(StreamedAnswer& state, json::Value root) {
  const auto block = find_member(root, "content_block");
  const std::string_view type = find_text(block, "type");
  if (type == "text") state.answer.content.append(find_text(block, "text"));
  if (is_thought(type)) start_thought(state, find_integer(root, "index").value_or(0), *block);
  if (type != "tool_use") return;
  contracts::AgentToolCall* call = open_tool_call(state, find_integer(root, "index"),
                                                  find_text(block, "id"), find_text(block, "name"));
  const auto input = find_member(block, "input");
  if (call != nullptr && input && input->is_object() && !input->members().empty()) {
    call->arguments = arguments_text(input);
  }
}

void fill_block(StreamedAnswer& state, json::Value root) {
  const auto delta = find_member(root, "delta");
  const std::string_view type = find_text(delta, "type");
  if (type == "text_delta") {
    state.answer.content.append(find_text(delta, "text"));
  } else if (type == "thinking_delta") {
    fill_thought(state, root, "thinking", find_text(delta, "thinking"));
  } else if (type == "signature_delta") {
    fill_thought(state, root, "signature", find_text(delta, "signature"));
  }
  if (type != "input_json_delta") return;
  // A block that was not opened as a call of ours belongs to a tool of the provider.
  append_arguments(state, find_integer(root, "index"), find_text(delta, "partial_json"));
}

void parse_event(StreamedAnswer& state, std::string_view name, std::string_view data) {
  const auto root = read_event(state, data);
  if (!root) return;
  std::string_view type = find_text(root, "type");
  if (type.empty()) type = name;
  if (type == "content_block_delta") {
    fill_block(state, *root);
  } else if (type == "content_block_start") {
    start_block(state, *root);
  } else if (type == "message_start") {
    const auto message = find_member(root, "message");
    note_model(state.answer, find_text(message, "model"));
    read_usage(state.answer, find_member(message, "usage"));
  } else if (type == "message_delta") {
    read_stop_reason(state.answer, find_member(root, "delta"));
    read_usage(state.answer, find_member(root, "usage"));
  } else if (type == "message_stop") {
    state.answer.complete = true;
    state.ended = true;
  } else if (type == "error" || find_member(root, "error")) {
    note_error(state.answer, data);
  }
}

// The provider's side: what the functions above read, written.

std::string_view raw_finish(std::string_view reason) {
  if (reason == "stop") return "end_turn";
  if (reason == "length") return "max_tokens";
  if (reason == "content_filter") return "refusal";
  return reason;
}

// Anthropic's input_tokens are those that no cache had.
void write_usage(json::Writer& writer, const OutgoingUsage& usage, std::int64_t output) {
  const std::int64_t fresh = usage.input - usage.cache_read - usage.cache_write;
  writer.name("usage").begin_object().member("input_tokens", std::max<std::int64_t>(fresh, 0));
  writer.member("cache_creation_input_tokens", usage.cache_write);
  writer.member("cache_read_input_tokens", usage.cache_read);
  writer.member("output_tokens", output).member("service_tier", "standard").end_object();
}

void begin_message(json::Writer& writer, const OutgoingAnswer& outgoing) {
  writer.begin_object();
  if (outgoing.with_ids) writer.member("id", outgoing.id);
  writer.member("type", "message").member("role", "assistant").member("model", outgoing.model);
  writer.name("content").begin_array();
}

// A text block's words: a refusal is text here.
std::string whole_text(const OutgoingAnswer& outgoing) {
  return outgoing.text() + outgoing.refusal;
}

void write_tool_use(json::Writer& writer, const OutgoingAnswer& outgoing,
                    const OutgoingToolCall& call, std::string_view input) {
  writer.begin_object().member("type", "tool_use");
  if (outgoing.with_ids) writer.member("id", call.id);
  writer.member("name", call.name).name("input").raw(input).end_object();
}

void write_thought(json::Writer& writer, std::string_view text, std::string_view signature) {
  writer.begin_object().member("type", "thinking").member("thinking", text);
  writer.member("signature", signature).end_object();
}

std::string write_answer(const OutgoingAnswer& outgoing) {
  json::Writer writer;
  begin_message(writer, outgoing);
  if (!outgoing.thinking.empty()) {
    write_thought(writer, outgoing.thinking_text(), outgoing.signature);
  }
  if (!outgoing.pieces.empty() || !outgoing.refusal.empty()) {
    writer.begin_object().member("type", "text").member("text", whole_text(outgoing)).end_object();
  }
  for (const OutgoingToolCall& call : outgoing.tool_calls) {
    write_tool_use(writer, outgoing, call, object_or_empty(call.arguments));
  }
  writer.end_array().member("stop_reason", raw_finish(outgoing.finish_reason));
  writer.name("stop_sequence").null();
  write_usage(writer, outgoing.usage, outgoing.usage.output);
  return writer.end_object().take();
}

std::string write_error(const OutgoingError& error) {
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

std::string start_event(const OutgoingAnswer& outgoing) {
  return event("message_start", [&](json::Writer& writer) {
    writer.name("message");
    begin_message(writer, outgoing);
    writer.end_array().name("stop_reason").null().name("stop_sequence").null();
    write_usage(writer, outgoing.usage, 1);
    writer.end_object();
  });
}

// A piece of a block.
struct Delta {
  std::string_view type;
  std::string_view name;
  std::string_view text;
};

std::vector<Delta> deltas_of(std::string_view type, std::string_view name,
                             const std::vector<std::string>& pieces) {
  std::vector<Delta> deltas;
  deltas.reserve(pieces.size());
  for (const std::string& piece : pieces) deltas.push_back({type, name, piece});
  return deltas;
}

// One block: its start, its deltas, its stop.
template <class WriteStart>
void add_block(std::vector<StreamFrame>& frames, int index, const WriteStart& write_start,
               const std::vector<Delta>& deltas) {
  frames.push_back({event("content_block_start", [&](json::Writer& writer) {
    writer.member("index", index).name("content_block");
    write_start(writer);
  })});
  if (index == 0) frames.push_back({event("ping", [](json::Writer&) {})});
  for (const Delta& delta : deltas) {
    const auto write = [&](json::Writer& writer) {
      writer.member("index", index).name("delta").begin_object();
      writer.member("type", delta.type).member(delta.name, delta.text).end_object();
    };
    frames.push_back({event("content_block_delta", write), delta.type == "text_delta"});
  }
  frames.push_back(
      {event("content_block_stop", [&](json::Writer& writer) { writer.member("index", index); })});
}

std::vector<StreamFrame> write_stream(const OutgoingAnswer& outgoing) {
  std::vector<StreamFrame> frames;
  frames.push_back({start_event(outgoing)});
  int index = 0;
  if (!outgoing.thinking.empty()) {
    auto deltas = deltas_of("thinking_delta", "thinking", outgoing.thinking);
    deltas.push_back({"signature_delta", "signature", outgoing.signature});
    const auto start = [](json::Writer& writer) { write_thought(writer, "", ""); };
    add_block(frames, index++, start, deltas);
  }
  std::vector<std::string> texts = outgoing.pieces;
  if (!outgoing.refusal.empty()) texts.push_back(outgoing.refusal);
  if (!texts.empty()) {
    const auto start = [](json::Writer& writer) {
      writer.begin_object().member("type", "text").member("text", "").end_object();
    };
    add_block(frames, index++, start, deltas_of("text_delta", "text", texts));
  }
  for (const OutgoingToolCall& call : outgoing.tool_calls) {
    const auto start = [&](json::Writer& writer) { write_tool_use(writer, outgoing, call, "{}"); };
    const std::vector<std::string> pieces = argument_pieces(call.arguments);
    add_block(frames, index++, start, deltas_of("input_json_delta", "partial_json", pieces));
  }
  if (outgoing.error) {
    frames.push_back({http::event_bytes("error", write_error(*outgoing.error))});
    return frames;
  }
  frames.push_back({event("message_delta", [&](json::Writer& writer) {
    writer.name("delta").begin_object();
    writer.member("stop_reason", raw_finish(outgoing.finish_reason));
    writer.name("stop_sequence").null().end_object();
    write_usage(writer, outgoing.usage, outgoing.usage.output);
  })});
  frames.push_back({event("message_stop", [](json::Writer&) {})});
  return frames;
}

}  // namespace

const Protocol& anthropic_messages() {
  static constexpr Protocol kProtocol = {.name = "anthropic_messages",
                                         .render_request = render_anthropic_messages,
                                         .fixed_path = "/messages",
                                         .parse_response = parse_response,
                                         .parse_event = parse_event,
                                         .read_request = read_anthropic_messages,
                                         .write_answer = write_answer,
                                         .write_stream = write_stream,
                                         .write_error = write_error,
                                         .request_id_header = "request-id",
                                         .key_header = "x-api-key",
                                         .errors = ErrorStyle::anthropic,
                                         .ids = {"msg_01", "msg_01", "toolu_01"},
                                         .recorded_name = "messages"};
  return kProtocol;
}

}  // namespace treaty::backends
