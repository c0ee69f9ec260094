#include "treaty/backends/bridge/question.h"

#include <fmt/format.h>

#include <string_view>

#include "treaty/backends/protocols/request_parts.h"
#include "treaty/base/ids.h"
#include "treaty/base/json.h"
#include "treaty/base/json_write.h"
#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"

namespace treaty::backends {
namespace {

// Schemas that are deeper go as text, so that the request stays within the depth of a document.
constexpr std::size_t kDeepest = 48;

// --- For people and models -------------------------------------------------------------------

std::string text_of(const Part& part) {
  if (const auto* text = std::get_if<TextPart>(&part)) return repaired_utf8(text->text);
  const auto& image = std::get<ImagePart>(part);
  return fmt::format("[a picture, {}; it is in context.messages]", repaired_utf8(image.media_type));
}

std::string text_of(const UserMessage& message) {
  std::string text;
  for (const Part& part : message.parts) {
    if (!text.empty()) text += '\n';
    text += text_of(part);
  }
  return text;
}

std::string text_of(const AssistantMessage& message) {
  std::string text = repaired_utf8(message.text);
  for (const auto& call : message.tool_calls) {
    if (!text.empty()) text += '\n';
    text += fmt::format("[calls the tool {} as {}: {}]", repaired_utf8(call.name),
                        repaired_utf8(call.id), repaired_utf8(call.arguments));
  }
  return text;
}

std::string text_of(const ToolMessage& message) { return repaired_utf8(message.content); }

std::string title_of(const UserMessage& /*message*/) { return "user"; }
std::string title_of(const AssistantMessage& /*message*/) { return "you"; }
std::string title_of(const ToolMessage& message) {
  return fmt::format("result of {}, {}{}", repaired_utf8(message.tool_name),
                     repaired_utf8(message.tool_call_id), message.failed ? ", which failed" : "");
}

// Parts of the prompt, each under a heading of its own.
struct Section {
  std::string title;
  std::string text;
};

std::string text_of_tools(const Call& call) {
  std::string text;
  for (const Tool& tool : call.tools) {
    text += fmt::format("{}: {}\nparameters: {}\n\n", repaired_utf8(tool.name),
                        repaired_utf8(tool.description),
                        tool.parameters_json.empty() ? "{}" : repaired_utf8(tool.parameters_json));
  }
  return text +
         "To call them, answer with metadata.agent_result.tool_calls: a list of "
         "{\"id\", \"name\", \"arguments\"}, the arguments as JSON in a string.";
}

std::vector<Section> sections_of(const Call& call) {
  std::vector<Section> sections;
  if (!is_blank(call.system)) sections.push_back({"instructions", repaired_utf8(call.system)});
  if (!call.tools.empty()) sections.push_back({"tools", text_of_tools(call)});
  if (call.output) {
    sections.push_back({"form of the answer", "JSON that fits this schema, and nothing else:\n" +
                                                  repaired_utf8(call.output->schema_json)});
  }
  for (const Message& message : call.messages) {
    std::visit([&](const auto& said) { sections.push_back({title_of(said), text_of(said)}); },
               message);
  }
  return sections;
}

// A line that no text has, so that nobody can speak for somebody else.
std::string mark_for(const std::vector<Section>& sections) {
  std::string mark = "---";
  for (const Section& section : sections) {
    while (section.text.contains(mark) || section.title.contains(mark)) mark += '-';
  }
  return mark;
}

// --- For programs ----------------------------------------------------------------------------

void write_json_or_text(json::Writer& writer, std::string_view text) {
  const json::Document document(text, {.max_depth = kDeepest, .max_faults = 1});
  if (document.root() && document.faults().empty()) {
    json::write(writer, *document.root());
  } else {
    writer.value(repaired_utf8(text));
  }
}

void write(json::Writer& writer, const UserMessage& message) {
  writer.member("role", "user").name("content").objects(message.parts, [&](const Part& part) {
    if (const auto* text = std::get_if<TextPart>(&part)) {
      write_text(writer.member("type", "text"), "text", text->text);
    } else {
      const auto& image = std::get<ImagePart>(part);
      write_text(writer.member("type", "image"), "media_type", image.media_type);
      write_text(writer, "base64", image.base64);
    }
  });
}

void write(json::Writer& writer, const AssistantMessage& message) {
  writer.member("role", "assistant");
  write_text(writer, "content", message.text);
  writer.name("tool_calls").objects(message.tool_calls, [&](const auto& call) {
    write_text(writer, "id", call.id);
    write_text(writer, "name", call.name);
    write_text(writer, "arguments", call.arguments);
  });
}

void write(json::Writer& writer, const ToolMessage& message) {
  writer.member("role", "tool");
  write_text(writer, "tool_call_id", message.tool_call_id);
  write_text(writer, "name", message.tool_name);
  write_text(writer, "content", message.content);
  writer.member("failed", message.failed);
}

void write_tools(json::Writer& writer, const std::vector<Tool>& tools) {
  if (tools.empty()) return;
  writer.name("tools").objects(tools, [&](const Tool& tool) {
    write_text(writer, "name", tool.name);
    write_text(writer, "description", tool.description);
    write_json_or_text(writer.name("parameters"),
                       tool.parameters_json.empty() ? "{}" : tool.parameters_json);
  });
}

json::ObjectText context_of(const Call& call) {
  json::Writer writer;
  writer.begin_object();
  if (!call.system.empty()) write_text(writer, "system", call.system);
  writer.name("messages").objects(call.messages, [&](const Message& message) {
    std::visit([&](const auto& said) { write(writer, said); }, message);
  });
  write_tools(writer, call.tools);
  if (call.output) write_json_or_text(writer.name("output_schema"), call.output->schema_json);
  if (call.max_output_tokens) writer.member("max_output_tokens", *call.max_output_tokens);
  if (call.temperature) writer.member("temperature", *call.temperature);
  return json::ObjectText::written(writer.end_object());
}

}  // namespace

std::string bridge_prompt(const Call& call) {
  const std::vector<Section> sections = sections_of(call);
  std::string prompt;
  if (sections.size() == 1) {
    prompt = sections.front().text;
  } else {
    const std::string mark = mark_for(sections);
    for (const Section& section : sections) {
      prompt += fmt::format("{}{} {}\n{}", prompt.empty() ? "" : "\n\n", mark, section.title,
                            section.text);
    }
  }
  return is_blank(prompt) ? "(nothing was said)" : prompt;  // BRQ-01.
}

contracts::BridgeRequest bridge_request_of(const Call& call, const std::string& agent_name,
                                           std::int64_t timeout_seconds) {
  return {.request_id = new_uuid(),
          .version = "1.0",
          .agent_name = agent_name,
          .prompt = bridge_prompt(call),
          .created_at = timestamp_now(),
          .timeout_seconds = timeout_seconds,
          .context = context_of(call),
          .model = call.model.empty() ? std::nullopt : std::optional(repaired_utf8(call.model))};
}

}  // namespace treaty::backends
