// Anthropic's Messages: blocks in messages of two roles that take turns. Results of tools are
// blocks of the user; texts of nothing but white space are refused, and so is a missing max_tokens.
#include "treaty/backends/protocols/render.h"
#include "treaty/backends/protocols/rendering/parts.h"
#include "treaty/base/text.h"

namespace treaty::backends {
namespace {

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
  if (!is_blank(message.content)) write_text(writer, "content", message.content);
  if (message.failed) writer.member("is_error", true);
  writer.end_object();
}

void write_messages(json::Writer& writer, const Call& call) {
  const ToolIds ids(call.messages, {});
  RoleTurns turns(writer, "content");
  writer.name("messages").begin_array();
  for (std::size_t i = 0; i < call.messages.size(); ++i) {
    const Message& message = call.messages[i];
    if (const auto* user = std::get_if<UserMessage>(&message)) {
      write_user(turns, *user);
    } else if (const auto* assistant = std::get_if<AssistantMessage>(&message)) {
      write_assistant(turns, *assistant, ids, i);
    } else {
      write_result(turns, std::get<ToolMessage>(message), ids.of_result(i));
    }
  }
  turns.close();
  writer.end_array();
}

void write_tools(json::Writer& writer, const std::vector<Tool>& tools) {
  if (tools.empty()) return;
  writer.name("tools").begin_array();
  for (const Tool& tool : tools) {
    writer.begin_object();
    write_text(writer, "name", tool.name);
    if (!tool.description.empty()) write_text(writer, "description", tool.description);
    writer.name("input_schema").raw(parameters_of(tool)).end_object();
  }
  writer.end_array();
}

}  // namespace

std::string render_anthropic_messages(const Call& call, const RequestStyle& style) {
  json::Writer writer;
  writer.begin_object();
  if (style.model_in_body) write_text(writer, "model", call.model);
  if (!call.max_output_tokens) writer.member("max_tokens", kMaxTokens);
  write_settings(writer, call,
                 {.max_tokens = "max_tokens", .top_k = "top_k", .stop = "stop_sequences"});
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

std::string path_of_anthropic_messages(const Call& /*call*/) { return "/messages"; }

}  // namespace treaty::backends
