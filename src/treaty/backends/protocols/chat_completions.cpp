// Chat Completions, and the legacy Completions that share its envelope.
#include "treaty/backends/protocols/outgoing.h"
#include "treaty/backends/protocols/request_parts.h"
#include "treaty/http/event_stream.h"
#include "treaty/results/usage.h"

namespace treaty::backends {
namespace {

using json::find_member;
using json::find_text;

// The choice with index 0; one without an index is that.
std::optional<json::Value> first_choice(std::optional<json::Value> choices) {
  for (const json::Value choice : json::elements_of(choices)) {
    if (!choice.is_object()) continue;
    const auto index = find_member(choice, "index");
    if (!index || !index->is_number() || index->integer() == 0) return choice;
  }
  return std::nullopt;
}

void read_usage(results::Answer& answer, std::optional<json::Value> usage) {
  if (!usage || !usage->is_object()) return;
  if (auto read = results::read_openai_usage(*usage)) answer.usage = read;
  if (const auto cost = results::read_provider_cost(*usage)) answer.cost = cost;
}

void read_finish_reason(results::Answer& answer, json::Value choice) {
  std::string_view reason = find_text(choice, "finish_reason");
  if (reason.empty()) reason = find_text(find_member(choice, "finish_details"), "type");
  if (!reason.empty()) answer.finish_reason_raw = reason;
}

// What the envelope says beside the choices.
void read_envelope(results::Answer& answer, json::Value root) {
  note_model(answer, find_text(root, "model"));
  read_usage(answer, find_member(find_member(root, "x_groq"), "usage"));
  read_usage(answer, find_member(root, "usage"));
  if (find_member(root, "error")) note_error(answer, root.source());
}

// A function, a custom tool (whose arguments are its input), or the legacy function_call.
void add_tool_call(results::Answer& answer, json::Value call) {
  const auto custom = find_member(call, "custom");
  auto function = custom ? custom : find_member(call, "function");
  if (!function) function = call;
  const std::string_view name = find_text(function, "name");
  if (name.empty()) return;
  answer.tool_calls.push_back(tool_call(find_text(call, "id"), name,
                                        find_member(function, custom ? "input" : "arguments")));
}

void read_message(results::Answer& answer, json::Value message) {
  append_content(answer.content, find_member(message, "content"));
  answer.refusal.append(find_text(message, "refusal"));
  for (const json::Value call : json::elements_of(find_member(message, "tool_calls"))) {
    add_tool_call(answer, call);
  }
  if (const auto call = find_member(message, "function_call")) add_tool_call(answer, *call);
}

results::Answer parse_response(std::string_view body) {
  results::Answer answer;
  const json::Document document(body, wire_reading());
  const auto root = document.root();
  if (!root || !root->is_object()) return answer;
  read_envelope(answer, *root);
  const auto choices = find_member(root, "choices");
  if (!choices && is_bare_error(*root)) note_error(answer, body);
  const auto choice = first_choice(choices);
  answer.complete = choice || (choices && choices->is_array() && choices->elements().empty());
  if (!choice) return answer;
  if (find_member(choice, "error")) note_error(answer, choice->source());
  read_finish_reason(answer, *choice);
  if (const auto message = find_member(choice, "message")) {
    if (!message->is_object()) answer.complete = false;
    read_message(answer, *message);
  }
  answer.content.append(find_text(choice, "text"));
  return answer;
}

// A piece of a tool call. Names come whole; some providers repeat them.
void read_call_delta(StreamedAnswer& state, json::Value delta) {
  const auto custom = find_member(delta, "custom");
  auto function = custom ? custom : find_member(delta, "function");
  if (!function) function = delta;
  const std::string_view name = find_text(function, "name");
  contracts::AgentToolCall* call =
      open_tool_call(state, find_integer(delta, "index"), find_text(delta, "id"), name);
  if (call == nullptr) return;
  if (call->name.empty()) call->name = name;
  call->arguments += arguments_text(find_member(function, custom ? "input" : "arguments"));
}

// One pass: a delta has few members, and there are many deltas.
void read_delta(StreamedAnswer& state, json::Value delta) {
  if (!delta.is_object()) return;
  for (const auto& [name, value] : delta.members()) {
    const std::string_view member = name.text();
    if (member == "content") {
      append_content(state.answer.content, value);
    } else if (member == "refusal") {
      state.answer.refusal.append(json::text_of(value));
    } else if (member == "tool_calls") {
      for (const json::Value call : json::elements_of(value)) read_call_delta(state, call);
    } else if (member == "function_call" && value.is_object()) {
      read_call_delta(state, value);
    }
  }
}

void read_choice(StreamedAnswer& state, json::Value choice) {
  results::Answer& answer = state.answer;
  std::string_view text;
  bool has_delta = false;
  for (const auto& [name, value] : choice.members()) {
    const std::string_view member = name.text();
    if (value.is_null()) continue;
    if (member == "delta") {
      has_delta = true;
      read_delta(state, value);
    } else if (member == "finish_reason" && value.is_string() && !value.text().empty()) {
      answer.finish_reason_raw = value.text();
    } else if (member == "finish_details" && answer.finish_reason_raw.empty()) {
      answer.finish_reason_raw = find_text(value, "type");
    } else if (member == "text") {
      text = json::text_of(value);
    } else if (member == "usage") {
      read_usage(answer, value);
    } else if (member == "error") {
      note_error(answer, choice.source());
    }
  }
  if (!has_delta) answer.content.append(text);  // Legacy Completions; Together sends both.
  if (!answer.finish_reason_raw.empty()) answer.complete = true;
}

// A chunk is read in one pass over its members, because there are so many chunks.
void read_chunk(StreamedAnswer& state, json::Value root) {
  results::Answer& answer = state.answer;
  for (const auto& [name, value] : root.members()) {
    const std::string_view member = name.text();
    if (value.is_null()) continue;
    if (member == "choices") {
      if (const auto choice = first_choice(value)) read_choice(state, *choice);
    } else if (member == "model") {
      note_model(answer, json::text_of(value));
    } else if (member == "usage") {
      read_usage(answer, value);
    } else if (member == "x_groq" && !answer.usage) {
      read_usage(answer, find_member(value, "usage"));
    } else if (member == "error") {
      note_error(answer, root.source());
    }
  }
}

void parse_event(StreamedAnswer& state, std::string_view name, std::string_view data) {
  if (data == "[DONE]") {
    state.answer.complete = state.any;  // Alone it ends nothing.
    state.ended = true;
    return;
  }
  const auto root = read_event(state, data);
  if (!root) return;
  state.any = true;
  read_chunk(state, *root);
  if (!find_member(root, "choices") && is_bare_error(*root)) note_error(state.answer, data);
  if (name == "error") note_error(state.answer, data);
}

// The provider's side: what the functions above read, written.

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
  writer.member("reasoning_tokens", 0).member("audio_tokens", 0);
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
  if (!outgoing.tool_calls.empty()) {
    writer.name("tool_calls").objects(outgoing.tool_calls, [&](const OutgoingToolCall& call) {
      write_tool_call(writer, outgoing, call, call.arguments);
    });
  }
  writer.member_or_null("refusal", outgoing.refusal);
  writer.name("annotations").begin_array().end_array().end_object();
}

std::string write_answer(const OutgoingAnswer& outgoing) {
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

std::vector<StreamFrame> write_stream(const OutgoingAnswer& outgoing) {
  std::vector<StreamFrame> frames;
  frames.push_back({chunk(outgoing, "", [](json::Writer& writer) {
    writer.member("role", "assistant").member("content", "").name("refusal").null();
  })});
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

std::string write_text_answer(const OutgoingAnswer& outgoing) {
  json::Writer writer;
  begin_text_answer(writer, outgoing);
  write_choice(writer, outgoing.text(), outgoing.finish_reason);
  writer.end_array();
  write_text_usage(writer, outgoing.usage);
  return writer.end_object().take();
}

std::string text_chunk(const OutgoingAnswer& outgoing, std::string_view text,
                       std::string_view finish) {
  json::Writer writer;
  begin_text_answer(writer, outgoing);
  write_choice(writer, text, finish);
  return http::event_bytes("", writer.end_array().end_object().take());
}

std::vector<StreamFrame> write_text_stream(const OutgoingAnswer& outgoing) {
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

}  // namespace

const Protocol& chat_completions() {
  static constexpr Protocol kProtocol = {.name = "chat_completions",
                                         .render_request = render_chat_completions,
                                         .fixed_path = "/chat/completions",
                                         .parse_response = parse_response,
                                         .parse_event = parse_event,
                                         .read_request = read_chat_completions,
                                         .write_answer = write_answer,
                                         .write_stream = write_stream};
  return kProtocol;
}

const Protocol& completions() {
  static constexpr Protocol kProtocol = {.name = "completions",
                                         .render_request = render_completions,
                                         .fixed_path = "/completions",
                                         .parse_response = parse_response,
                                         .parse_event = parse_event,
                                         .read_request = read_completions,
                                         .write_answer = write_text_answer,
                                         .write_stream = write_text_stream,
                                         .ids = {"cmpl-", "msg_", "call_"},
                                         .takes_pictures = false};
  return kProtocol;
}

}  // namespace treaty::backends
