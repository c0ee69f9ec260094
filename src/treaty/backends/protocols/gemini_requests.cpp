// Requests of Gemini's generateContent, written and read: contents of parts in turns of user and
// model; the path names the model.
#include <fmt/format.h>

#include "treaty/backends/protocols/request_parts.h"
#include "treaty/base/percent.h"
#include "treaty/base/text.h"

namespace treaty::backends {
namespace {

using json::find_member;
using json::find_text;

constexpr SettingNames kSettings = {.max_tokens = "maxOutputTokens",
                                    .top_p = "topP",
                                    .top_k = "topK",
                                    .frequency_penalty = "frequencyPenalty",
                                    .presence_penalty = "presencePenalty",
                                    .seed = "seed",
                                    .stop = "stopSequences"};

// From the third generation on, a call in the history has to carry the signature of the thought
// behind it. This one stands for calls whose signature is not known.
constexpr std::string_view kNoSignature = "skip_thought_signature_validator";

bool wants_signatures(std::string_view model) {
  const std::size_t at = model.find("gemini-");
  if (at == std::string_view::npos || at + 7 >= model.size()) return false;
  const char generation = model[at + 7];
  return is_digit(generation) && generation >= '3';
}

void write_text_part(RoleTurns& contents, std::string_view role, std::string_view text) {
  if (text.empty()) return;
  json::Writer& writer = contents.part(role);
  write_text(writer, "text", text);
  writer.end_object();
}

void write_user(RoleTurns& contents, const UserMessage& message) {
  for (const Part& part : message.parts) {
    if (const auto* text = std::get_if<TextPart>(&part)) {
      write_text_part(contents, "user", text->text);
      continue;
    }
    const auto& image = std::get<ImagePart>(part);
    json::Writer& writer = contents.part("user").name("inlineData").begin_object();
    write_text(writer, "mimeType", image.media_type);
    write_text(writer, "data", image.base64);
    writer.end_object().end_object();
  }
}

void write_assistant(RoleTurns& contents, const AssistantMessage& message, bool signatures) {
  write_text_part(contents, "model", message.text);
  bool first = true;
  for (const contracts::AgentToolCall& call : message.tool_calls) {
    json::Writer& writer = contents.part("model").name("functionCall").begin_object();
    write_text(writer, "name", call.name);
    writer.name("args").raw(arguments_object(call.arguments)).end_object();
    if (signatures && first) writer.member("thoughtSignature", kNoSignature);
    writer.end_object();
    first = false;
  }
}

// The name of the tool is what a result is known by; a caller may only have given the id.
std::string_view tool_name_of(const Call& call, std::size_t place) {
  const auto& result = std::get<ToolMessage>(call.messages[place]);
  if (!result.tool_name.empty()) return result.tool_name;
  for (std::size_t i = place; i-- > 0;) {
    const auto* assistant = std::get_if<AssistantMessage>(&call.messages[i]);
    if (assistant == nullptr) continue;
    for (const contracts::AgentToolCall& made : assistant->tool_calls) {
      if (made.id == result.tool_call_id) return made.name;
    }
  }
  return result.tool_call_id;
}

void write_result(RoleTurns& contents, const ToolMessage& message, std::string_view name) {
  json::Writer& writer = contents.part("user").name("functionResponse").begin_object();
  write_text(writer, "name", name);
  writer.name("response");
  const std::string object = message.failed ? "" : object_or(message.content, "");
  if (object.empty()) {
    writer.begin_object();
    write_text(writer, message.failed ? "error" : "output", message.content);
    writer.end_object();
  } else {
    writer.raw(object);
  }
  writer.end_object().end_object();
}

void write_contents(json::Writer& writer, const Call& call) {
  const bool signatures = wants_signatures(call.model);
  RoleTurns contents(writer, "parts");
  writer.name("contents").begin_array();
  each_message(
      call.messages, [&](const auto& user) { write_user(contents, user); },
      [&](const auto& assistant, auto) { write_assistant(contents, assistant, signatures); },
      [&](const auto& result, auto i) { write_result(contents, result, tool_name_of(call, i)); });
  contents.close();
  writer.end_array();
}

void write_tools(json::Writer& writer, const std::vector<Tool>& tools) {
  if (tools.empty()) return;
  writer.name("tools").begin_array().begin_object().name("functionDeclarations");
  writer.objects(tools, [&](const Tool& tool) {
    write_text(writer, "name", tool.name);
    if (!tool.description.empty()) write_text(writer, "description", tool.description);
    if (!tool.parameters_json.empty()) {
      writer.name("parametersJsonSchema").raw(parameters_of(tool));
    }
  });
  writer.end_object().end_array();
}

void write_generation_config(json::Writer& writer, const Call& call) {
  if (!call.output && !call.has_settings()) return;
  writer.name("generationConfig").begin_object();
  write_settings(writer, call, kSettings);
  if (call.output) {
    writer.member("responseMimeType", "application/json");
    writer.name("responseJsonSchema").raw(object_or(call.output->schema_json, "{}"));
  }
  writer.end_object();
}

// A model's name in a path. Slashes stay: tuned models have a folder of their own.
std::string path_segment(std::string_view text) { return percent_encoded(text, "-._~/@:"); }

// A result stays the object that it is: it is written again as such.
void read_user_part(ReceivedMessages& messages, json::Value part) {
  const auto result = find_member(part, "functionResponse");
  const auto response = find_member(result, "response");
  const auto image = find_member(part, "inlineData");
  if (response) {
    messages.add_result({.tool_call_id = {},
                         .tool_name = std::string(find_text(result, "name")),
                         .content = json::minified(*response)});
  } else if (image) {
    messages.add_user_part(ImagePart{.media_type = std::string(find_text(image, "mimeType")),
                                     .base64 = std::string(find_text(image, "data"))});
  } else if (const auto text = part.is_string() ? part : find_member(part, "text")) {
    messages.add_user_part(TextPart{std::string(json::text_of(text))});
  }
}

void read_model_part(ReceivedMessages& messages, json::Value part) {
  if (const auto text = find_member(part, "text"); text && !is_true(find_member(part, "thought"))) {
    messages.add_assistant_text(std::string(json::text_of(text)));
  }
  const auto call = find_member(part, "functionCall");
  if (!call) return;
  messages.add_call(
      tool_call(find_text(call, "id"), find_text(call, "name"), find_member(call, "args")));
}

void read_content(ReceivedMessages& messages, json::Value content) {
  const bool is_model = find_text(content, "role") == "model";
  const auto parts = find_member(content, "parts");
  if (!is_filled_array(parts)) return;
  for (const json::Value part : parts->elements()) {
    if (is_model) {
      read_model_part(messages, part);
    } else {
      read_user_part(messages, part);
    }
  }
  messages.end_message();
}

// Schemas have two names: the older one takes a subset of OpenAPI.
void read_tools(Call& call, std::optional<json::Value> tools) {
  for (const json::Value tool : json::elements_of(tools)) {
    for (const json::Value function :
         json::elements_of(find_member(tool, "functionDeclarations"))) {
      const bool is_old = find_member(function, "parameters").has_value();
      read_tool(call, function, is_old ? "parameters" : "parametersJsonSchema");
    }
  }
}

}  // namespace

std::string render_gemini(const Call& call, const RequestStyle& /*style*/) {
  json::Writer writer;
  writer.begin_object();
  if (!call.system.empty()) {
    writer.name("systemInstruction").begin_object().name("parts").begin_array().begin_object();
    write_text(writer, "text", call.system);
    writer.end_object().end_array().end_object();
  }
  write_contents(writer, call);
  write_tools(writer, call.tools);
  write_generation_config(writer, call);
  return writer.end_object().take();
}

std::string read_gemini(ReceivedRequest& request, json::Value root) {
  const auto contents = find_member(root, "contents");
  if (!is_filled_array(contents)) {
    return "* GenerateContentRequest.contents: contents is not specified";
  }
  ReceivedMessages received;
  received.add_system(content_text(find_member(find_member(root, "systemInstruction"), "parts")));
  for (const json::Value content : contents->elements()) read_content(received, content);
  received.move_to(request.call);
  read_tools(request.call, find_member(root, "tools"));
  const auto config = find_member(root, "generationConfig");
  read_settings(request.call, config, kSettings);
  if (find_text(config, "responseMimeType") != "application/json") return {};
  auto schema = find_member(config, "responseSchema");
  if (!schema) schema = find_member(config, "responseJsonSchema");
  request.call.output = OutputSchema{.schema_json = schema ? std::string(schema->source()) : "{}"};
  return {};
}

std::string path_of_gemini(const Call& call) {
  const bool has_folder = call.model.find('/') != std::string::npos;
  return fmt::format("{}{}:{}", has_folder ? "/" : "/models/", path_segment(call.model),
                     call.stream ? "streamGenerateContent?alt=sse" : "generateContent");
}

}  // namespace treaty::backends
