// Requests of Anthropic's Messages, written and read: blocks in messages of two roles that take
// turns. Results of tools are blocks of the user; texts of nothing but white space are refused, and
// so is a missing max_tokens.
#include "treaty/backends/protocols/request_parts.h"
#include "treaty/base/text.h"

namespace treaty::backends {
namespace {

using json::find_member;
using json::find_text;

constexpr SettingNames kSettings = {
    .max_tokens = "max_tokens", .top_k = "top_k", .stop = "stop_sequences"};

constexpr std::int64_t kMaxTokens = 8192;  // What every model of theirs can give.

void write_text_block(RoleTurns& turns, std::string_view role, std::string_view text) {
  if (is_blank(text)) return;
  json::Writer& writer = turns.part(role).member("type", "text");
  write_text(writer, "text", text);
  writer.end_object();
}

void write_user(RoleTurns& turns, const UserMessage& message) {
  for (const Part& part : message.parts) {
    if (const auto* text = std::get_if<TextPart>(&part)) {
      write_text_block(turns, "user", text->text);
      continue;
    }
    const auto& image = std::get<ImagePart>(part);
    json::Writer& writer = turns.part("user").member("type", "image");
    writer.name("source").begin_object().member("type", "base64");
    write_text(writer, "media_type", image.media_type);
    write_text(writer, "data", image.base64);
    writer.end_object().end_object();
  }
}

// A text that the answer shall go on from must not end with white space.
std::string_view without_trailing_space(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
}

void write_assistant(RoleTurns& turns, const AssistantMessage& message, const ToolIds& ids,
                     std::size_t place) {
  write_text_block(turns, "assistant", without_trailing_space(message.text));
  for (std::size_t i = 0; i < message.tool_calls.size(); ++i) {
    const contracts::AgentToolCall& call = message.tool_calls[i];
    json::Writer& writer = turns.part("assistant").member("type", "tool_use");
    write_text(writer, "id", ids.of_call(place, i));
    write_text(writer, "name", call.name);
    writer.name("input").raw(arguments_object(call.arguments)).end_object();
  }
}

void write_result(RoleTurns& turns, const ToolMessage& message, std::string_view id) {
  json::Writer& writer = turns.part("user").member("type", "tool_result");
  write_text(writer, "tool_use_id", id);
  const bool is_blank_failure = message.failed && is_blank(message.content);
  if (is_blank_failure) write_text(writer, "content", "The tool failed.");  // It may not be empty.
  if (!is_blank(message.content)) write_text(writer, "content", message.content);
  if (message.failed) writer.member("is_error", true);
  writer.end_object();
}

void write_messages(json::Writer& writer, const Call& call) {
  const ToolIds ids(call.messages, {});
  RoleTurns turns(writer, "content");
  writer.name("messages").begin_array();
  each_message(
      call.messages, [&](const auto& user) { write_user(turns, user); },
      [&](const auto& assistant, std::size_t i) { write_assistant(turns, assistant, ids, i); },
      [&](const auto& result, std::size_t i) { write_result(turns, result, ids.of_result(i)); });
  turns.close();
  writer.end_array();
}

void write_tools(json::Writer& writer, const std::vector<Tool>& tools) {
  if (tools.empty()) return;
  writer.name("tools").objects(tools,
                               [&](const Tool& tool) { write_tool(writer, tool, "input_schema"); });
}

void read_user_block(ReceivedMessages& messages, json::Value block) {
  const std::string_view type = find_text(block, "type");
  const auto source = find_member(block, "source");
  if (type == "tool_result") {
    messages.add_result({.tool_call_id = std::string(find_text(block, "tool_use_id")),
                         .tool_name = {},
                         .content = content_text(find_member(block, "content")),
                         .failed = is_true(find_member(block, "is_error"))});
  } else if (type == "image" && find_text(source, "type") == "base64") {
    messages.add_user_part(ImagePart{.media_type = std::string(find_text(source, "media_type")),
                                     .base64 = std::string(find_text(source, "data"))});
  } else if (const auto text = block.is_string() ? block : find_member(block, "text")) {
    messages.add_user_part(TextPart{std::string(json::text_of(text))});
  }
}

void read_assistant_block(ReceivedMessages& messages, json::Value block) {
  const std::string_view type = find_text(block, "type");
  if (type == "text") messages.add_assistant_text(std::string(find_text(block, "text")));
  if (type != "tool_use") return;
  messages.add_call(
      tool_call(find_text(block, "id"), find_text(block, "name"), find_member(block, "input")));
}

void read_message(ReceivedMessages& messages, json::Value message) {
  const bool is_user = find_text(message, "role") == "user";
  const auto content = find_member(message, "content");
  if (!is_filled_array(content)) {
    if (is_user) return messages.add_user(content);
    return messages.add_assistant_text(content_text(content));
  }
  for (const json::Value block : content->elements()) {
    if (is_user) {
      read_user_block(messages, block);
    } else {
      read_assistant_block(messages, block);
    }
  }
  messages.end_message();
}

}  // namespace

std::string render_anthropic_messages(const Call& call, const RequestStyle& style) {
  json::Writer writer;
  writer.begin_object();
  if (style.model_in_body) write_text(writer, "model", call.model);
  if (!call.max_output_tokens) writer.member("max_tokens", kMaxTokens);
  write_settings(writer, call, kSettings);
  if (!is_blank(call.system)) write_text(writer, "system", call.system);
  write_messages(writer, call);
  write_tools(writer, call.tools);
  if (call.output) {
    writer.name("output_config").begin_object().name("format").begin_object();
    writer.member("type", "json_schema").name("schema");
    writer.raw(object_or(call.output->schema_json, "{}")).end_object().end_object();
  }
  if (call.stream) writer.member("stream", true);
  return writer.end_object().take();
}

std::string read_anthropic_messages(ReceivedRequest& request, json::Value root) {
  const auto messages = find_member(root, "messages");
  if (!find_member(root, "max_tokens")) return "max_tokens: Field required";
  if (!messages) return "messages: Field required";
  if (!is_filled_array(messages)) return "messages: at least one message is required";
  ReceivedMessages received;
  received.add_system(content_text(find_member(root, "system")));
  for (const json::Value message : messages->elements()) read_message(received, message);
  received.move_to(request.call);
  for (const json::Value tool : json::elements_of(find_member(root, "tools"))) {
    read_tool(request.call, tool, "input_schema");
  }
  read_output_format(request.call, find_member(find_member(root, "output_config"), "format"));
  read_settings(request.call, root, kSettings);
  return {};
}

}  // namespace treaty::backends
