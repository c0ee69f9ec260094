// Requests of Gemini's generateContent, written and read: contents of parts in turns of user and
// model; the path names the model.
#include <fmt/format.h>

#include "treaty/backends/protocols/gemini_thoughts.h"
#include "treaty/backends/protocols/models.h"
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

bool is_signature(const results::Thought& thought) {
  const ThoughtReader reader(thought);
  const auto signature = find_member(reader.object(), "thoughtSignature");
  return signature && signature->is_string();
}

// Without the signed text at its end; all of it is signed where nothing is said.
std::string_view unsigned_text(std::string_view text, json::Value thought) {
  const auto bytes = json::find_integer(thought, kSignedBytes);
  if (!bytes || *bytes < 0 || static_cast<std::uint64_t>(*bytes) >= text.size()) return {};
  return text.substr(0, character_begin(text, text.size() - static_cast<std::size_t>(*bytes)));
}

// Where a signed text begins behind a call: without this place, it would stand before the call.
bool is_begin(const results::Thought& thought) { return thought.json.empty(); }

bool is_begin_or_signature(const results::Thought& thought) {
  return is_begin(thought) || is_signature(thought);
}

std::vector<results::Thought> with_begins(std::span<const results::Thought> thoughts) {
  std::vector<results::Thought> out;
  for (const results::Thought& thought : thoughts) {
    const ThoughtReader reader(thought);
    const auto bytes = find_integer(reader.object(), kSignedBytes);
    if (bytes && *bytes > 0 && static_cast<std::uint64_t>(*bytes) <= thought.text) {
      out.push_back(
          {.text = thought.text - static_cast<std::size_t>(*bytes), .calls = thought.calls});
    }
    out.push_back(thought);
  }
  return out;
}

// Writes the model's parts, each with the signature that it came with.
class ModelParts {
 public:
  ModelParts(RoleTurns& contents, bool wants_signatures)
      : contents_(contents), wants_signatures_(wants_signatures) {}

  void write(const AssistantMessage& message, std::span<const results::Thought> thoughts) {
    signature_.clear();
    each_part(
        message, with_begins(thoughts), is_begin_or_signature,
        [&](std::string_view text) {
          write_text();
          text_ = text;
        },
        [&](std::size_t i) { write_call(message.tool_calls[i]); },
        [&](const results::Thought& thought, bool) {
          if (!is_begin(thought)) take(thought);
        });
    write_text();
  }

  // Somebody else speaks: the model's next parts are another step.
  void end_step() { has_call_ = false; }

 private:
  void take(const results::Thought& thought) {
    const ThoughtReader reader(thought);
    const auto object = reader.object();
    const auto signature = find_member(object, "thoughtSignature");
    const GeminiPart part = gemini_part_of(*object);
    if (part == GeminiPart::call) {
      signature_ = signature->source();
      return;
    }
    if (part == GeminiPart::thought) {
      write_text();
      contents_.raw_part("model", object->source());
      return;
    }
    const std::string_view before =
        part == GeminiPart::empty_text ? text_ : unsigned_text(text_, *object);
    write_text_part(contents_, "model", before);
    text_.remove_prefix(before.size());
    json::Writer& writer = contents_.part("model");
    backends::write_text(writer, "text", std::exchange(text_, {}));
    writer.name("thoughtSignature").raw(signature->source()).end_object();
  }

  void write_text() { write_text_part(contents_, "model", std::exchange(text_, {})); }

  // The first call of a step has to have a signature.
  void write_call(const contracts::AgentToolCall& call) {
    write_text();
    json::Writer& writer = contents_.part("model").name("functionCall").begin_object();
    backends::write_text(writer, "name", call.name);
    writer.name("args").raw(arguments_object(call.arguments)).end_object();
    if (!signature_.empty()) {
      writer.name("thoughtSignature").raw(signature_);
    } else if (wants_signatures_ && !has_call_) {
      writer.member("thoughtSignature", kNoSignature);
    }
    writer.end_object();
    signature_.clear();
    has_call_ = true;
  }

  RoleTurns& contents_;
  bool wants_signatures_;
  bool has_call_ = false;
  std::string_view text_{};  // Not written yet: a signature may belong to it.
  std::string signature_{};  // JSON, of the next call.
};

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

// Those of the third generation on, which an alias without a number may mean.
bool asks_for_signatures(std::string_view model) {
  const int generation = gemini_generation(model);
  return generation >= 300 || (generation == 0 && is_gemini(model));
}

void write_contents(json::Writer& writer, const Call& call) {
  RoleTurns contents(writer, "parts");
  ModelParts parts(contents, asks_for_signatures(call.model));
  writer.name("contents").begin_array();
  each_message(
      call.messages,
      [&](const auto& user) {
        parts.end_step();
        write_user(contents, user);
      },
      [&](const auto& said, auto) { parts.write(said, thoughts_to_send(call, said)); },
      [&](const auto& result, auto i) {
        parts.end_step();
        write_result(contents, result, tool_name_of(call, i));
      });
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

// A level from the third generation on, a budget before it; both together are refused.
struct ThinkingConfig {
  std::optional<Effort> level{};
  std::optional<std::int64_t> budget{};
  bool shows = false;

  bool is_empty() const { return !level && !budget && !shows; }
};

ThinkingConfig thinking_config(const Call& call) {
  const int generation = gemini_generation(call.model);
  const Reasoning reasoning = call.reasoning.value_or(Reasoning{});
  ThinkingConfig config;
  if (generation == 0 || generation >= 300) config.level = reasoning.effort;
  if (!config.level) config.budget = reasoning.budget_tokens;
  config.shows = call.shows_thinking && (generation >= 205 || !config.is_empty());
  return config;
}

// Before the third generation, tools and a schema in one request are refused.
bool is_held_to_schema(const Call& call) {
  return call.output && (call.tools.empty() || gemini_generation(call.model) >= 300);
}

void write_generation_config(json::Writer& writer, const Call& call) {
  const ThinkingConfig thinking = thinking_config(call);
  const bool has_schema = is_held_to_schema(call);
  if (!has_schema && !call.has_settings() && thinking.is_empty()) return;
  writer.name("generationConfig").begin_object();
  write_settings(writer, call, kSettings);
  if (!thinking.is_empty()) {
    writer.name("thinkingConfig").begin_object();
    if (thinking.level) writer.member("thinkingLevel", name_of(*thinking.level));
    if (thinking.budget) writer.member("thinkingBudget", *thinking.budget);
    if (thinking.shows) writer.member("includeThoughts", true);
    writer.end_object();
  }
  if (has_schema) {
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
  const auto text = find_member(part, "text");
  const auto call = find_member(part, "functionCall");
  auto signature = find_member(part, "thoughtSignature");
  if (json::text_of(signature) == kNoSignature) signature.reset();
  if (is_true(find_member(part, "thought"))) {
    if (signature) messages.add_placed_thought(std::string(part.source()));
  } else if (text) {
    const std::string_view words = json::text_of(text);
    messages.add_assistant_text(std::string(words));
    if (signature && !call) messages.add_placed_thought(gemini_text_thought(*signature, words));
  }
  if (!call) return;
  if (signature) messages.add_placed_thought(gemini_call_thought(*signature));
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

void read_thinking(Call& call, std::optional<json::Value> config) {
  call.shows_thinking = is_true(find_member(config, "includeThoughts"));
  const Reasoning read{.effort = effort_of(find_text(config, "thinkingLevel")),
                       .budget_tokens = json::find_integer(config, "thinkingBudget")};
  if (read != Reasoning{}) call.reasoning = read;
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
  const bool in_words = call.output && !is_held_to_schema(call);
  const std::string system = in_words ? system_with_schema(call) : call.system;
  if (!system.empty()) {
    writer.name("systemInstruction").begin_object().name("parts").begin_array().begin_object();
    write_text(writer, "text", system);
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
  read_thinking(request.call, find_member(config, "thinkingConfig"));
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
