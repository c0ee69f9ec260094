// OpenAI's Responses: an answer is a list of items; a stream ends with an event that repeats it
// whole.
#include "treaty/backends/protocols/outgoing.h"
#include "treaty/backends/protocols/request_parts.h"
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

// Without anything encrypted or readable it cannot go back: the provider has not kept it.
bool is_whole_thought(json::Value item) {
  return !find_text(item, "encrypted_content").empty() ||
         is_filled_array(find_member(item, "content"));
}

void read_reasoning_item(results::Answer& answer, json::Value item) {
  for (const std::string_view name : {"summary", "content"}) {
    for (const json::Value part : json::elements_of(find_member(item, name))) {
      add_thinking(answer, find_text(part, "text"));
    }
  }
  if (is_whole_thought(item)) add_thought(answer, std::string(item.source()));
}

// What the provider runs itself (web_search_call, mcp_call…) is not for the caller.
void read_item(results::Answer& answer, json::Value item) {
  const std::string_view type = find_text(item, "type");
  if (type == "message") {
    if (auto phase = phase_of(item)) add_thought(answer, *std::move(phase));
    read_message_item(answer, item);
  }
  if (type == "reasoning") read_reasoning_item(answer, item);
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
  answer.complete = answer.complete && has_allowed_thoughts(answer);
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
    if (last.thoughts.empty()) last.thoughts = std::move(state.answer.thoughts);
  }
  if (last.thinking.empty()) last.thinking = std::move(state.answer.thinking);
  if (!last.usage) last.usage = state.answer.usage;
  last.complete = has_allowed_thoughts(last);
  state.ended = true;
  state.open_calls.clear();
  state.answer = std::move(last);
}

void add_streamed_thought(StreamedAnswer& state, std::string json) {
  count_thought(state, json.size());
  add_thought(state.answer, std::move(json));
  if (state.answer.thoughts.size() > kMostThoughts) state.broken = true;
}

// An item begins, or is whole: then it has its arguments, which need not have come in pieces.
void add_item(StreamedAnswer& state, json::Value root, bool is_done) {
  const auto item = find_member(root, "item");
  const std::string_view type = find_text(item, "type");
  if (type == "message" && !is_done) {
    if (auto phase = phase_of(*item)) add_streamed_thought(state, *std::move(phase));
  }
  if (type == "message" && state.answer.content.empty() && state.answer.refusal.empty()) {
    read_message_item(state.answer, *item);
  }
  if (type == "reasoning" && is_done && is_whole_thought(*item)) {
    add_streamed_thought(state, std::string(item->source()));
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
  } else if (type == "response.reasoning_summary_text.delta" ||
             type == "response.reasoning_text.delta") {
    append_thinking(state, find_text(root, "delta"));
  } else if (type == "response.reasoning_summary_part.added") {
    state.breaks_thinking = true;
  } else if (type == "response.output_item.added" || type == "response.output_item.done") {
    state.breaks_thinking = true;
    add_item(state, *root, type == "response.output_item.done");
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

}  // namespace

const Protocol& responses() {
  static constexpr Protocol kProtocol = {.name = "responses",
                                         .render_request = render_responses,
                                         .fixed_path = "/responses",
                                         .parse_response = parse_response,
                                         .parse_event = parse_event,
                                         .read_request = read_responses,
                                         .write_answer = write_responses_answer,
                                         .write_stream = write_responses_stream,
                                         .ids = {"resp_", "msg_", "call_"}};
  return kProtocol;
}

}  // namespace treaty::backends
