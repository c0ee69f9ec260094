// Answers of Chat Completions, and of the legacy Completions that share its envelope.
#include "treaty/backends/protocols/chat_reasoning.h"
#include "treaty/backends/protocols/outgoing.h"
#include "treaty/backends/protocols/request_parts.h"
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
  if (auto thought = thought_of_call(call)) {
    answer.thoughts.push_back({.calls = answer.tool_calls.size(), .json = *std::move(thought)});
  }
  answer.tool_calls.push_back(tool_call(find_text(call, "id"), name,
                                        find_member(function, custom ? "input" : "arguments")));
}

void read_message(results::Answer& answer, json::Value message) {
  read_chat_reasoning(answer, message);
  read_chat_content(answer, find_member(message, "content"));
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
  answer.complete = answer.complete && has_allowed_thoughts(answer);
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
  const auto place = static_cast<std::size_t>(call - state.answer.tool_calls.data());
  read_call_thought(state, delta, place);
  const auto arguments = find_member(function, custom ? "input" : "arguments");
  if (!arguments) return;
  state.has_piece |= !arguments->is_string() || !arguments->text().empty();
  if (arguments->is_string()) {
    call->arguments += arguments->text();
  } else {
    call->arguments += arguments_text(arguments);
  }
}

// One pass: a delta has few members, and there are many deltas.
void read_delta(StreamedAnswer& state, json::Value delta) {
  if (!delta.is_object()) return;
  ChatReasoning reasoning;
  for (const auto& [name, value] : delta.members()) {
    const std::string_view member = name.text();
    if (member == "content") {
      if (value.is_string()) {
        state.answer.content.append(value.text());
      } else {
        read_content_delta(state, value);
      }
    } else if (member == "refusal") {
      state.answer.refusal.append(json::text_of(value));
    } else if (member == "tool_calls") {
      for (const json::Value call : json::elements_of(value)) read_call_delta(state, call);
    } else if (member == "function_call" && value.is_object()) {
      read_call_delta(state, value);
    } else if (member.starts_with("reasoning")) {
      reasoning.take(member, value);
    }
  }
  if (!reasoning.is_empty()) read_reasoning_delta(state, reasoning);
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

}  // namespace

const Protocol& chat_completions() {
  static constexpr Protocol kProtocol = {.name = "chat_completions",
                                         .render_request = render_chat_completions,
                                         .fixed_path = "/chat/completions",
                                         .parse_response = parse_response,
                                         .parse_event = parse_event,
                                         .read_request = read_chat_completions,
                                         .write_answer = write_chat_answer,
                                         .write_stream = write_chat_stream};
  return kProtocol;
}

const Protocol& completions() {
  static constexpr Protocol kProtocol = {.name = "completions",
                                         .render_request = render_completions,
                                         .fixed_path = "/completions",
                                         .parse_response = parse_response,
                                         .parse_event = parse_event,
                                         .read_request = read_completions,
                                         .write_answer = write_completions_answer,
                                         .write_stream = write_completions_stream,
                                         .ids = {"cmpl-", "msg_", "call_"},
                                         .takes_pictures = false};
  return kProtocol;
}

}  // namespace treaty::backends
