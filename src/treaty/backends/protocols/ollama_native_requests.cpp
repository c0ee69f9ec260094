// Requests of Ollama's own chat, written and read: arguments as objects, images beside the text,
// settings under `options`, and a stream unless it is told not to.
#include <algorithm>

#include "treaty/backends/protocols/request_parts.h"

namespace treaty::backends {
namespace {

using json::find_member;
using json::find_text;

constexpr SettingNames kSettings = {.max_tokens = "num_predict",
                                    .top_k = "top_k",
                                    .frequency_penalty = "frequency_penalty",
                                    .presence_penalty = "presence_penalty",
                                    .seed = "seed"};

void write_user(json::Writer& writer, const UserMessage& message) {
  writer.begin_object().member("role", "user");
  write_text(writer, "content", joined_text(message));
  bool any = false;
  for (const Part& part : message.parts) {
    const auto* image = std::get_if<ImagePart>(&part);
    if (image == nullptr) continue;
    if (!any) writer.name("images").begin_array();
    any = true;
    write_text(writer, image->base64);
  }
  if (any) writer.end_array();
  writer.end_object();
}

void write_assistant(json::Writer& writer, const AssistantMessage& message,
                     std::span<const results::Thought> thoughts) {
  writer.begin_object().member("role", "assistant");
  write_text(writer, "content", message.text);
  if (!thoughts.empty()) {
    const ThoughtReader reader(thoughts.front());
    const auto thinking = find_member(reader.object(), "thinking");
    if (thinking && thinking->is_string()) writer.name("thinking").raw(thinking->source());
  }
  if (!message.tool_calls.empty()) {
    writer.name("tool_calls").objects(message.tool_calls, [&](const auto& call) {
      write_text(writer.name("function").begin_object(), "name", call.name);
      writer.name("arguments").raw(arguments_object(call.arguments)).end_object();
    });
  }
  writer.end_object();
}

void write_result(json::Writer& writer, const ToolMessage& result) {
  writer.begin_object().member("role", "tool");
  write_text(writer, "content", result_text(result));
  write_text(writer, "tool_name", result.tool_name);
  writer.end_object();
}

void write_options(json::Writer& writer, const Call& call) {
  if (!call.has_settings()) return;
  writer.name("options").begin_object();
  write_settings(writer, call, kSettings);
  writer.end_object();
}

void read_message(ReceivedMessages& messages, json::Value message) {
  const std::string_view role = find_text(message, "role");
  const auto content = find_member(message, "content");
  if (role == "system") {
    messages.add_system(content_text(content));
  } else if (role == "user") {
    messages.add_user(content);
    for (const json::Value image : json::elements_of(find_member(message, "images"))) {
      messages.add_user_part(ImagePart{.media_type = "image/png",  // They do not say which.
                                       .base64 = std::string(json::text_of(image))});
    }
  } else if (role == "assistant") {
    messages.add_assistant_text(content_text(content));
    const auto thinking = find_member(message, "thinking");
    if (thinking && thinking->is_string()) {
      messages.add_thoughts({{.json = object_of("thinking", *thinking)}});
    }
    for (const json::Value call : json::elements_of(find_member(message, "tool_calls"))) {
      const auto function = find_member(call, "function");
      messages.add_call(tool_call(find_text(call, "id"), find_text(function, "name"),
                                  find_member(function, "arguments")));
    }
  } else if (role == "tool") {
    messages.add_result({.tool_call_id = std::string(find_text(message, "tool_call_id")),
                         .tool_name = std::string(find_text(message, "tool_name")),
                         .content = content_text(content)});
  }
}

}  // namespace

std::string render_ollama(const Call& call, const RequestStyle& /*style*/) {
  json::Writer writer;
  writer.begin_object();
  write_text(writer, "model", call.model);
  writer.name("messages").begin_array();
  if (!call.system.empty()) {
    writer.begin_object().member("role", "system");
    write_text(writer, "content", call.system);
    writer.end_object();
  }
  each_message(
      call.messages, [&](const auto& user) { write_user(writer, user); },
      [&](const auto& said, std::size_t) {
        write_assistant(writer, said, thoughts_to_send(call, said));
      },
      [&](const auto& result, std::size_t) { write_result(writer, result); });
  writer.end_array();
  write_function_tools(writer, call.tools);
  if (call.output) writer.name("format").raw(object_or(call.output->schema_json, "\"json\""));
  write_options(writer, call);
  if (call.reasoning && call.reasoning->effort) {
    writer.member("think", name_of(std::max(*call.reasoning->effort, Effort::low)));
  }
  writer.member("stream", call.stream);
  return writer.end_object().take();
}

std::string read_ollama(ReceivedRequest& request, json::Value root) {
  ReceivedMessages received;
  for (const json::Value message : json::elements_of(find_member(root, "messages"))) {
    read_message(received, message);
  }
  received.move_to(request.call);
  read_function_tools(request.call, root);
  read_settings(request.call, find_member(root, "options"), kSettings);
  if (const auto effort = effort_of(find_text(root, "think"))) {
    request.call.reasoning = Reasoning{.effort = effort};
  }
  const auto stream = find_member(root, "stream");
  request.call.stream = !stream || !stream->is_boolean() || stream->boolean();
  const auto format = find_member(root, "format");
  if (format && format->is_object()) {
    request.call.output = OutputSchema{.schema_json = std::string(format->source())};
  } else if (format && format->is_string()) {
    request.call.output = OutputSchema{.schema_json = "{}"};
  }
  return {};
}

}  // namespace treaty::backends
