// Ollama's own chat: arguments as objects, images beside the text, settings under `options`, and a
// stream unless it is told not to.
#include "treaty/backends/protocols/render.h"
#include "treaty/backends/protocols/rendering/parts.h"

namespace treaty::backends {
namespace {

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

void write_assistant(json::Writer& writer, const AssistantMessage& message) {
  writer.begin_object().member("role", "assistant");
  write_text(writer, "content", message.text);
  if (!message.tool_calls.empty()) {
    writer.name("tool_calls").begin_array();
    for (const contracts::AgentToolCall& call : message.tool_calls) {
      writer.begin_object().name("function").begin_object();
      write_text(writer, "name", call.name);
      writer.name("arguments").raw(arguments_object(call.arguments));
      writer.end_object().end_object();
    }
    writer.end_array();
  }
  writer.end_object();
}

void write_message(json::Writer& writer, const Message& message) {
  if (const auto* user = std::get_if<UserMessage>(&message)) {
    write_user(writer, *user);
  } else if (const auto* assistant = std::get_if<AssistantMessage>(&message)) {
    write_assistant(writer, *assistant);
  } else {
    const auto& result = std::get<ToolMessage>(message);
    writer.begin_object().member("role", "tool");
    write_text(writer, "content", result.content);
    write_text(writer, "tool_name", result.tool_name);
    writer.end_object();
  }
}

void write_options(json::Writer& writer, const Call& call) {
  if (!call.has_settings()) return;
  writer.name("options").begin_object();
  write_settings(writer, call,
                 {.max_tokens = "num_predict",
                  .top_k = "top_k",
                  .frequency_penalty = "frequency_penalty",
                  .presence_penalty = "presence_penalty",
                  .seed = "seed"});
  writer.end_object();
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
  for (const Message& message : call.messages) write_message(writer, message);
  writer.end_array();
  write_function_tools(writer, call.tools);
  if (call.output) writer.name("format").raw(object_or(call.output->schema_json, "\"json\""));
  write_options(writer, call);
  writer.member("stream", call.stream);
  return writer.end_object().take();
}

std::string path_of_ollama(const Call& /*call*/) { return "/api/chat"; }

}  // namespace treaty::backends
