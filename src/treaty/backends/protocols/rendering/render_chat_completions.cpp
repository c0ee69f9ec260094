// Chat Completions, as OpenAI defined it and most providers speak it, and its legacy predecessor.
#include "treaty/backends/protocols/render.h"
#include "treaty/backends/protocols/rendering/parts.h"

namespace treaty::backends {
namespace {

// OpenAI refuses ids of more than 40 characters; Mistral takes exactly nine letters or digits.
IdRule id_rule_of(const RequestStyle& style) {
  if (style.short_tool_call_ids) {
    return {.least = 9, .most = 9, .dash_and_underscore = false, .anything_else = false};
  }
  return {.least = 1, .most = 40, .dash_and_underscore = true, .anything_else = true};
}

void write_part(json::Writer& writer, const Part& part) {
  writer.begin_object();
  if (const auto* text = std::get_if<TextPart>(&part)) {
    writer.member("type", "text");
    write_text(writer, "text", text->text);
  } else {
    writer.member("type", "image_url").name("image_url").begin_object();
    write_text(writer, "url", data_url(std::get<ImagePart>(part)));
    writer.end_object();
  }
  writer.end_object();
}

// A message of text alone is a string: every provider reads that, not every one a list.
void write_user(json::Writer& writer, const UserMessage& message) {
  writer.begin_object().member("role", "user").name("content");
  if (message.parts.empty()) {
    writer.value("");
  } else if (message.parts.size() == 1 && std::holds_alternative<TextPart>(message.parts[0])) {
    write_text(writer, std::get<TextPart>(message.parts[0]).text);
  } else {
    writer.begin_array();
    for (const Part& part : message.parts) write_part(writer, part);
    writer.end_array();
  }
  writer.end_object();
}

void write_assistant(json::Writer& writer, const AssistantMessage& message, const ToolIds& ids,
                     std::size_t place) {
  writer.begin_object().member("role", "assistant").name("content");
  if (message.text.empty() && !message.tool_calls.empty()) {
    writer.null();
  } else {
    write_text(writer, message.text);
  }
  if (!message.tool_calls.empty()) {
    writer.name("tool_calls").begin_array();
    for (std::size_t i = 0; i < message.tool_calls.size(); ++i) {
      const contracts::AgentToolCall& call = message.tool_calls[i];
      writer.begin_object();
      write_text(writer, "id", ids.of_call(place, i));
      writer.member("type", "function").name("function").begin_object();
      write_text(writer, "name", call.name);
      write_text(writer, "arguments", call.arguments.empty() ? "{}" : call.arguments);
      writer.end_object().end_object();
    }
    writer.end_array();
  }
  writer.end_object();
}

// Where only json_object is known, the schema is told in words; the mode wants "JSON" in them.
std::string system_text(const Call& call, const RequestStyle& style) {
  if (!call.output || style.json_schema) return call.system;
  std::string text = call.system.empty() ? "" : call.system + "\n\n";
  text += "Answer with one JSON object that fits this JSON Schema, and nothing else:\n";
  return text + object_or(call.output->schema_json, "{}");
}

void write_messages(json::Writer& writer, const Call& call, const RequestStyle& style) {
  const ToolIds ids(call.messages, id_rule_of(style));
  const std::string system = system_text(call, style);
  writer.name("messages").begin_array();
  if (!system.empty()) {
    writer.begin_object().member("role", style.developer_role ? "developer" : "system");
    write_text(writer, "content", system);
    writer.end_object();
  }
  for (std::size_t i = 0; i < call.messages.size(); ++i) {
    const Message& message = call.messages[i];
    if (const auto* user = std::get_if<UserMessage>(&message)) {
      write_user(writer, *user);
    } else if (const auto* assistant = std::get_if<AssistantMessage>(&message)) {
      write_assistant(writer, *assistant, ids, i);
    } else {
      writer.begin_object().member("role", "tool");
      write_text(writer, "tool_call_id", ids.of_result(i));
      write_text(writer, "content", std::get<ToolMessage>(message).content);
      writer.end_object();
    }
  }
  writer.end_array();
}

void write_response_format(json::Writer& writer, const Call& call, const RequestStyle& style) {
  if (!call.output) return;
  writer.name("response_format").begin_object();
  if (style.json_schema) {
    writer.member("type", "json_schema").name("json_schema").begin_object();
    write_text(writer, "name", call.output->name);
    writer.member("strict", call.output->strict);
    writer.name("schema").raw(object_or(call.output->schema_json, "{}")).end_object();
  } else {
    writer.member("type", "json_object");
  }
  writer.end_object();
}

SettingNames names_after(std::string_view max_tokens) {
  return {.max_tokens = max_tokens,
          .frequency_penalty = "frequency_penalty",
          .presence_penalty = "presence_penalty",
          .seed = "seed"};
}

void write_stream(json::Writer& writer, const Call& call, const RequestStyle& style) {
  if (!call.stream) return;
  writer.member("stream", true);
  if (!style.stream_usage) return;
  writer.name("stream_options").begin_object().member("include_usage", true).end_object();
}

// A conversation as one text, for models that only go on writing.
std::string prompt_of(const Call& call) {
  std::string out = call.system;
  for (const Message& message : call.messages) {
    if (!out.empty()) out += "\n\n";
    if (const auto* user = std::get_if<UserMessage>(&message)) {
      out += joined_text(*user);
    } else if (const auto* assistant = std::get_if<AssistantMessage>(&message)) {
      out += assistant->text;
    } else {
      out += std::get<ToolMessage>(message).content;
    }
  }
  return out;
}

}  // namespace

std::string render_chat_completions(const Call& call, const RequestStyle& style) {
  json::Writer writer;
  writer.begin_object();
  if (style.model_in_body) write_text(writer, "model", call.model);
  write_messages(writer, call, style);
  write_function_tools(writer, call.tools);
  write_response_format(writer, call, style);
  write_settings(writer, call, names_after(style.max_tokens_name));
  write_stream(writer, call, style);
  return writer.end_object().take();
}

std::string render_completions(const Call& call, const RequestStyle& style) {
  json::Writer writer;
  writer.begin_object();
  if (style.model_in_body) write_text(writer, "model", call.model);
  write_text(writer, "prompt", prompt_of(call));
  write_settings(writer, call, names_after("max_tokens"));
  write_stream(writer, call, style);
  return writer.end_object().take();
}

std::string path_of_chat_completions(const Call& /*call*/) { return "/chat/completions"; }
std::string path_of_completions(const Call& /*call*/) { return "/completions"; }

}  // namespace treaty::backends
