// Anthropic's Messages: an answer is a list of blocks; a stream opens, fills and closes each.
#include "treaty/backends/protocols/protocol.h"
#include "treaty/backends/protocols/render.h"
#include "treaty/backends/protocols/wire.h"
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

// Thinking, and tools that the provider runs itself, are not for the caller.
void read_block(results::Answer& answer, json::Value block) {
  const std::string_view type = find_text(block, "type");
  if (type == "text") answer.content.append(find_text(block, "text"));
  if (type != "tool_use") return;
  answer.tool_calls.push_back({.id = std::string(find_text(block, "id")),
                               .name = std::string(find_text(block, "name")),
                               .arguments = arguments_text(find_member(block, "input"))});
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
  if (content && content->is_array()) {
    for (const json::Value block : content->elements()) read_block(answer, block);
  }
  return answer;
}

void start_block(StreamedAnswer& state, json::Value root) {
  const auto block = find_member(root, "content_block");
  const std::string_view type = find_text(block, "type");
  if (type == "text") state.answer.content.append(find_text(block, "text"));
  if (type != "tool_use") return;
  contracts::AgentToolCall* call = open_tool_call(state, integer_in(root, "index"),
                                                  find_text(block, "id"), find_text(block, "name"));
  const auto input = find_member(block, "input");
  if (call != nullptr && input && input->is_object() && !input->members().empty()) {
    call->arguments = arguments_text(input);
  }
}

void fill_block(StreamedAnswer& state, json::Value root) {
  const auto delta = find_member(root, "delta");
  const std::string_view type = find_text(delta, "type");
  if (type == "text_delta") state.answer.content.append(find_text(delta, "text"));
  if (type != "input_json_delta") return;
  // A block that was not opened as a call of ours belongs to a tool of the provider.
  append_arguments(state, integer_in(root, "index"), find_text(delta, "partial_json"));
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

}  // namespace

const Protocol& anthropic_messages() {
  static constexpr Protocol kProtocol = {.name = "anthropic_messages",
                                         .render_request = render_anthropic_messages,
                                         .path = path_of_anthropic_messages,
                                         .parse_response = parse_response,
                                         .parse_event = parse_event};
  return kProtocol;
}

}  // namespace treaty::backends
