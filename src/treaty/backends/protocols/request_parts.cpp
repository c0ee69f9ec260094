#include "treaty/backends/protocols/request_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "treaty/backends/protocols/models.h"
#include "treaty/base/hash.h"
#include "treaty/base/json.h"
#include "treaty/base/text.h"

namespace treaty::backends {
namespace {

// Deeper than any schema of use; together with the levels around it still below the 64 that strict
// readers, ours included, allow.
constexpr std::size_t kDeepest = 48;

bool is_allowed(char c, const IdRule& rule) {
  return is_alphanumeric(c) || (rule.dash_and_underscore && (c == '-' || c == '_'));
}

bool is_allowed(std::string_view id, const IdRule& rule) {
  if (id.size() < rule.least || id.size() > rule.most) return false;
  return rule.anything_else || std::ranges::all_of(id, [&](char c) { return is_allowed(c, rule); });
}

// An id that nobody else's id becomes: what is allowed of it, and a digest of all of it.
std::string made_anew(std::string_view id, const IdRule& rule) {
  constexpr std::size_t kDigest = 12;
  std::string out;
  std::ranges::copy_if(id, std::back_inserter(out), [&](char c) { return is_allowed(c, rule); });
  const std::size_t kept = rule.most > kDigest ? rule.most - kDigest : 0;
  out.resize(std::min(out.size(), kept));
  out += sha256_hex(id).substr(0, kDigest);
  return out.substr(0, rule.most);
}

struct CallPlace {
  std::string original;
  std::string wire;
  bool answered = false;
};

// The result belongs to the first unanswered call of that id in the message before it.
std::string id_for_result(std::vector<CallPlace>& calls, const ToolMessage& result,
                          const IdRule& rule) {
  for (CallPlace& call : calls) {
    if (call.answered || call.original != result.tool_call_id) continue;
    call.answered = true;
    return call.wire;
  }
  return is_allowed(result.tool_call_id, rule) ? result.tool_call_id
                                               : made_anew(result.tool_call_id, rule);
}

// What a schema wants, as far as its root tells: objects, said by `type` alone or in other words,
// or anything. A root that says nothing of it wants objects, too.
enum class SchemaKind { object, objects, any };

SchemaKind kind_of(std::optional<json::Value> schema);

SchemaKind kind_of_choices(json::Value choices) {
  for (const json::Value choice : json::elements_of(choices)) {
    if (kind_of(choice) == SchemaKind::any) return SchemaKind::any;
  }
  return SchemaKind::objects;
}

SchemaKind kind_of(std::optional<json::Value> schema) {
  if (const auto type = json::find_member(schema, "type")) {
    if (json::text_of(type) == "object") return SchemaKind::object;
    const bool is_list = json::minified(*type) == R"(["object"])";
    return is_list ? SchemaKind::objects : SchemaKind::any;
  }
  for (const std::string_view name : {"anyOf", "oneOf"}) {
    if (const auto choices = json::find_member(schema, name)) return kind_of_choices(*choices);
  }
  for (const std::string_view name : {"$ref", "allOf", "enum", "const"}) {
    if (json::find_member(schema, name)) return SchemaKind::any;
  }
  return SchemaKind::objects;
}

SchemaKind kind_of(const OutputSchema& output) {
  const json::Document document(output.schema_json, {.max_depth = kDeepest, .max_faults = 1});
  return kind_of(document.root());
}

void write_setting(json::Writer& writer, std::string_view name, std::optional<double> value) {
  if (value && std::isfinite(*value) && !name.empty()) writer.member(name, *value);
}

void write_setting(json::Writer& writer, std::string_view name, std::optional<std::int64_t> value) {
  if (value && !name.empty()) writer.member(name, *value);
}

}  // namespace

void write_text(json::Writer& writer, std::string_view text) {
  if (is_utf8(text)) {
    writer.value(text);
  } else {
    writer.value(std::string_view(repaired_utf8(text)));
  }
}

void write_text(json::Writer& writer, std::string_view name, std::string_view text) {
  writer.name(name);
  write_text(writer, text);
}

std::string object_or(std::string_view text, std::string_view otherwise) {
  const json::Document document(text, {.max_depth = kDeepest, .max_faults = 1});
  const bool good = document.root() && document.root()->is_object() && document.faults().empty();
  return good ? json::minified(*document.root()) : std::string(otherwise);
}

std::string arguments_object(std::string_view arguments) {
  if (is_blank(arguments)) return "{}";
  std::string object = object_or(arguments, "");
  if (!object.empty()) return object;
  json::Writer writer;
  writer.begin_object();
  write_text(writer, "text", arguments);
  return writer.end_object().take();
}

std::string parameters_of(const Tool& tool) {
  return object_or(tool.parameters_json, R"({"type":"object","properties":{}})");
}

std::string result_text(const ToolMessage& result) {
  return result.failed ? "Error: the tool call failed: " + result.content : result.content;
}

std::string data_url(const ImagePart& image) {
  return fmt::format("data:{};base64,{}", image.media_type, image.base64);
}

std::optional<ImagePart> read_data_url(std::string_view url) {
  constexpr std::string_view kScheme = "data:";
  constexpr std::string_view kMark = ";base64,";
  const std::size_t mark = url.find(kMark);
  if (!url.starts_with(kScheme) || mark == std::string_view::npos) return std::nullopt;
  return ImagePart{.media_type = std::string(url.substr(kScheme.size(), mark - kScheme.size())),
                   .base64 = std::string(url.substr(mark + kMark.size()))};
}

std::string joined_text(const UserMessage& message) {
  std::string out;
  for (const Part& part : message.parts) {
    const auto* text = std::get_if<TextPart>(&part);
    if (text == nullptr) continue;
    if (!out.empty()) out.push_back('\n');
    out += text->text;
  }
  return out;
}

void write_settings(json::Writer& writer, const Call& call, const SettingNames& names) {
  const Sampling& sampling = call.sampling;
  write_setting(writer, names.max_tokens, call.max_output_tokens);
  write_setting(writer, names.temperature, call.temperature);
  write_setting(writer, names.top_p, sampling.top_p);
  write_setting(writer, names.top_k, sampling.top_k);
  write_setting(writer, names.frequency_penalty, sampling.frequency_penalty);
  write_setting(writer, names.presence_penalty, sampling.presence_penalty);
  write_setting(writer, names.seed, sampling.seed);
  if (call.stop.empty() || names.stop.empty()) return;
  writer.name(names.stop).array(call.stop, [&](const auto& stop) { write_text(writer, stop); });
}

SettingNames settings_taken(const Call& call, const RequestStyle& style, SettingNames names) {
  if (!style.reasoners_fix_sampling || !has_fixed_sampling(call.model)) return names;
  names.temperature = names.top_p = names.top_k = {};
  names.frequency_penalty = names.presence_penalty = {};
  return names;
}

void read_settings(Call& call, std::optional<json::Value> object, const SettingNames& names) {
  call.max_output_tokens = json::find_integer(object, names.max_tokens);
  call.temperature = json::find_number(object, names.temperature);
  call.sampling = {.top_p = json::find_number(object, names.top_p),
                   .top_k = json::find_integer(object, names.top_k),
                   .frequency_penalty = json::find_number(object, names.frequency_penalty),
                   .presence_penalty = json::find_number(object, names.presence_penalty),
                   .seed = json::find_integer(object, names.seed)};
  const auto stop = json::find_member(object, names.stop);
  if (stop && stop->is_string()) call.stop.emplace_back(stop->text());
  for (const json::Value text : json::elements_of(stop))
    call.stop.emplace_back(json::text_of(text));
}

void read_tool(Call& call, json::Value tool, std::string_view schema) {
  const std::string_view name = json::find_text(tool, "name");
  if (name.empty()) return;
  const auto parameters = json::find_member(tool, schema);
  call.tools.push_back({.name = std::string(name),
                        .description = std::string(json::find_text(tool, "description")),
                        .parameters_json = parameters ? std::string(parameters->source()) : ""});
}

void read_function_tools(Call& call, json::Value root) {
  for (const json::Value tool : json::elements_of(json::find_member(root, "tools"))) {
    if (const auto function = json::find_member(tool, "function")) {
      read_tool(call, *function, "parameters");
    }
  }
}

std::string system_with_schema(const Call& call) {
  const bool is_object = kind_of(*call.output) != SchemaKind::any;
  std::string text = call.system.empty() ? "" : call.system + "\n\n";
  text += fmt::format("Answer with {} that fits this JSON Schema, and nothing else:\n",
                      is_object ? "one JSON object" : "one JSON value");
  return text + object_or(call.output->schema_json, "{}");
}

OutputForm output_form_of(const Call& call, const RequestStyle& style) {
  if (!style.schema_beside_tools && !call.tools.empty()) return {.in_words = true};
  const SchemaKind kind = call.output ? kind_of(*call.output) : SchemaKind::object;
  const OutputForm in_words = {.in_words = true, .as_json_object = kind != SchemaKind::any};
  if (style.schema_of_object && kind != SchemaKind::object) return in_words;
  const bool is_strict = call.output && call.output->strict;
  if (style.schema == SchemaStyle::all_models) return {.is_strict = is_strict};
  if (style.schema == SchemaStyle::json_object) return in_words;
  // Groq answers 400 to any format in a stream or beside tools, and to a schema for most models.
  if (call.stream || !call.tools.empty()) return {.in_words = true};
  const GroqSchema schema = groq_schema_of(call.model);
  if (schema == GroqSchema::none) return in_words;
  return {.is_strict = is_strict && schema == GroqSchema::strict};
}

std::string system_of(const Call& call, const RequestStyle& style) {
  const bool in_words = call.output && output_form_of(call, style).in_words;
  return in_words ? system_with_schema(call) : call.system;
}

void read_output_format(Call& call, std::optional<json::Value> format) {
  const std::string_view type = json::find_text(format, "type");
  if (type == "json_object") call.output = OutputSchema{.schema_json = "{}"};
  if (type != "json_schema") return;
  auto described = json::find_member(format, "json_schema");
  if (!described) described = format;
  const auto schema = json::find_member(described, "schema");
  const auto strict = json::find_member(described, "strict");
  OutputSchema output{.schema_json = schema ? std::string(schema->source()) : "{}",
                      .strict = !strict || is_true(strict)};
  const std::string_view name = json::find_text(described, "name");
  if (!name.empty()) output.name = name;
  call.output = std::move(output);
}

std::string prompt_cache_key(const Call& call) {
  constexpr std::size_t kLength = 32;
  if (!call.caches || call.conversation.empty()) return {};
  return sha256_hex(call.conversation).substr(0, kLength);
}

void write_cache_control(json::Writer& writer, const Call& call, const RequestStyle& style) {
  if (!call.caches || !style.asks_to_cache_claude || !call.model.starts_with("anthropic/")) return;
  writer.name("cache_control").begin_object().member("type", "ephemeral").end_object();
}

bool ends_with_prefill(const Call& call) {
  if (call.messages.empty()) return false;
  const auto* last = std::get_if<AssistantMessage>(&call.messages.back());
  return last != nullptr && last->tool_calls.empty() && !last->text.empty();
}

bool is_filled_array(std::optional<json::Value> value) {
  return value && value->is_array() && !value->elements().empty();
}

std::string content_text(std::optional<json::Value> content) {
  std::string text(json::text_of(content));
  for (const json::Value part : json::elements_of(content)) {
    text += part.is_string() ? part.text() : json::find_text(part, "text");
  }
  return text;
}

void ReceivedMessages::add_user(std::optional<json::Value> content) {
  UserMessage message;
  if (content && content->is_string()) message.parts.emplace_back(TextPart{content_text(content)});
  for (const json::Value part : json::elements_of(content)) {
    const auto text = part.is_string() ? part : json::find_member(part, "text");
    const auto url = json::find_member(part, "image_url");  // A text, or an object with a `url`.
    if (text && text->is_string()) {
      message.parts.emplace_back(TextPart{std::string(text->text())});
    } else if (auto image = read_data_url(url && url->is_string() ? json::text_of(url)
                                                                  : json::find_text(url, "url"))) {
      message.parts.emplace_back(std::move(*image));
    }
  }
  messages_.emplace_back(std::move(message));
  is_open_ = true;
}

void ReceivedMessages::add_user_part(Part part) {
  if (!is_open_ || !std::holds_alternative<UserMessage>(messages_.back())) {
    messages_.emplace_back(UserMessage{});
    is_open_ = true;
  }
  std::get<UserMessage>(messages_.back()).parts.push_back(std::move(part));
}

AssistantMessage* ReceivedMessages::newest_assistant() {
  return messages_.empty() ? nullptr : std::get_if<AssistantMessage>(&messages_.back());
}

void ReceivedMessages::add_assistant_text(std::string text) {
  messages_.emplace_back(AssistantMessage{.text = std::move(text)});
}

void ReceivedMessages::add_text_part(std::string text) {
  AssistantMessage* newest = newest_assistant();
  if (newest != nullptr && newest->text.empty() && newest->tool_calls.empty() &&
      !newest->thoughts.parts.empty()) {
    newest->text = std::move(text);
  } else {
    add_assistant_text(std::move(text));
  }
}

void ReceivedMessages::add_call(contracts::AgentToolCall call) {
  if (newest_assistant() == nullptr) add_assistant_text({});
  newest_assistant()->tool_calls.push_back(std::move(call));
}

void ReceivedMessages::add_thought(std::string json) {
  const AssistantMessage* newest = newest_assistant();
  if (newest == nullptr || !newest->text.empty() || !newest->tool_calls.empty()) {
    messages_.emplace_back(AssistantMessage{});
  }
  add_thoughts({{.json = std::move(json)}});
}

void ReceivedMessages::add_placed_thought(std::string json) {
  if (newest_assistant() == nullptr) add_assistant_text({});
  const AssistantMessage& newest = *newest_assistant();
  add_thoughts(
      {{.text = newest.text.size(), .calls = newest.tool_calls.size(), .json = std::move(json)}});
}

void ReceivedMessages::add_thoughts(std::vector<results::Thought> thoughts) {
  AssistantMessage* newest = newest_assistant();
  if (newest == nullptr || thoughts.empty()) return;
  newest->thoughts.author = kReceivedAuthor;
  for (results::Thought& thought : thoughts) newest->thoughts.parts.push_back(std::move(thought));
  has_thoughts_ = true;
}

void ReceivedMessages::add_system(std::string_view text) {
  if (!system_.empty() && !text.empty()) system_ += "\n\n";
  system_ += text;
}

void ReceivedMessages::move_to(Call& call) {
  call.system = std::move(system_);
  if (has_thoughts_) call.author = kReceivedAuthor;
  for (Message& message : messages_) call.messages.push_back(std::move(message));
}

void write_tool(json::Writer& writer, const Tool& tool, std::string_view schema) {
  write_text(writer, "name", tool.name);
  if (!tool.description.empty()) write_text(writer, "description", tool.description);
  writer.name(schema).raw(parameters_of(tool));
}

void write_function_tools(json::Writer& writer, const std::vector<Tool>& tools) {
  if (tools.empty()) return;
  writer.name("tools").objects(tools, [&](const Tool& tool) {
    writer.member("type", "function").name("function").begin_object();
    write_tool(writer, tool, "parameters");
    writer.end_object();
  });
}

ToolIds::ToolIds(const Messages& messages, const IdRule& rule) : ids_(messages.size()) {
  std::vector<CallPlace> calls;  // Of the assistant's last message.
  std::set<std::string> used;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (const auto* assistant = std::get_if<AssistantMessage>(&messages[i])) {
      calls.clear();
      for (const contracts::AgentToolCall& call : assistant->tool_calls) {
        std::string id = is_allowed(call.id, rule) ? call.id : made_anew(call.id, rule);
        // An id that stood for another call before, or none at all: the place tells them apart.
        for (std::size_t n = 1; call.id.empty() || used.contains(id); ++n) {
          id = made_anew(fmt::format("{} {} {} {}", call.id, i, calls.size(), n), rule);
          if (!used.contains(id)) break;
        }
        used.insert(id);
        ids_[i].push_back(id);
        calls.push_back({call.id, id});
      }
    } else if (const auto* result = std::get_if<ToolMessage>(&messages[i])) {
      ids_[i].push_back(id_for_result(calls, *result, rule));
    }
  }
}

void RoleTurns::turn_to(std::string_view role) {
  if (role == role_) return;
  close();
  writer_.begin_object().member("role", role).name(list_).begin_array();
  role_ = role;
}

json::Writer& RoleTurns::part(std::string_view role) {
  turn_to(role);
  return writer_.begin_object();
}

void RoleTurns::raw_part(std::string_view role, std::string_view json) {
  turn_to(role);
  writer_.raw(json);
}

void RoleTurns::close() {
  if (!role_.empty()) writer_.end_array().end_object();
  role_ = {};
}

}  // namespace treaty::backends
