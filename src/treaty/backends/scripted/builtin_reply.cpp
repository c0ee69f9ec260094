// The answers of a played provider without a script.
#include <fmt/format.h>

#include "treaty/backends/scripted/script_player.h"
#include "treaty/base/json.h"
#include "treaty/base/json_write.h"
#include "treaty/base/text.h"

namespace treaty::backends {
namespace {

// Deeper than any schema that a person writes; what is below gets null.
constexpr int kDeepest = 16;

void write_sample(json::Writer& writer, json::Value schema, int depth);

// The type that the schema names; of several the first.
std::string_view type_of(json::Value schema) {
  const auto type = schema.members().find("type");
  if (type && type->is_string()) return type->text();
  for (const json::Value one : json::elements_of(type)) {
    if (one.is_string()) return one.text();
  }
  return schema.members().find("properties") ? "object" : "";
}

bool is_required(json::Value schema, std::string_view name) {
  for (const json::Value one : json::elements_of(schema.members().find("required"))) {
    if (one.is_string() && one.text() == name) return true;
  }
  return false;
}

void write_object(json::Writer& writer, json::Value schema, int depth) {
  writer.begin_object();
  const auto properties = schema.members().find("properties");
  if (properties && properties->is_object()) {
    for (const json::Member member : properties->members()) {
      if (!is_required(schema, member.name.text())) continue;
      writer.name(member.name.text());
      write_sample(writer, member.value, depth + 1);
    }
  }
  writer.end_object();
}

void write_sample(json::Writer& writer, json::Value schema, int depth) {
  if (!schema.is_object() || depth > kDeepest) {
    writer.null();
    return;
  }
  for (const std::string_view fixed : {"const", "default"}) {
    if (const auto value = schema.members().find(fixed)) {
      writer.raw(json::minified(*value));
      return;
    }
  }
  for (const json::Value first : json::elements_of(schema.members().find("enum"))) {
    writer.raw(json::minified(first));
    return;
  }
  const std::string_view type = type_of(schema);
  if (type == "object") {
    write_object(writer, schema, depth);
  } else if (type == "array") {
    writer.begin_array().end_array();
  } else if (type == "integer" || type == "number") {
    const auto minimum = schema.members().find("minimum");
    writer.raw(minimum && minimum->is_number() ? minimum->source() : "1");
  } else if (type == "boolean") {
    writer.value(true);
  } else if (type == "null") {
    writer.null();
  } else {
    writer.value("example");
  }
}

// The tool that the user's text names; the first when it asks for any.
const OfferedTool* wanted_tool(const Asked& asked) {
  constexpr std::size_t kFarEnough = 8192;  // Whoever names a tool does it early.
  const std::string text = folded(std::string_view(asked.user_text).substr(0, kFarEnough));
  for (const OfferedTool& tool : asked.tools) {
    if (!tool.name.empty() && text.contains(folded(tool.name))) return &tool;
  }
  const bool any = text.contains("use a tool") || text.contains("use the tool");
  return any && !asked.tools.empty() ? &asked.tools.front() : nullptr;
}

}  // namespace

std::string sample_of_schema(std::string_view schema_json) {
  const json::Document document(schema_json, {.grammar_only = true});
  if (!document.root() || !document.root()->is_object()) return "{}";
  json::Writer writer;
  write_sample(writer, *document.root(), 0);
  return writer.take();
}

Reply builtin_reply(const Asked& asked) {
  Reply reply;
  if (!asked.tool_results.empty()) {
    reply.text = {fmt::format("The tools answered: {}", fmt::join(asked.tool_results, "; "))};
  } else if (const OfferedTool* tool = wanted_tool(asked)) {
    reply.tool_calls.push_back(
        {.name = tool->name, .arguments = sample_of_schema(tool->parameters_json)});
  } else if (!asked.output_schema_json.empty()) {
    reply.text = {sample_of_schema(asked.output_schema_json)};
  } else if (is_blank(asked.user_text)) {
    reply.text = {"Hello. This is treaty mock."};
  } else {
    reply.text = {fmt::format("You said: {}", asked.user_text)};
  }
  return reply;
}

}  // namespace treaty::backends
