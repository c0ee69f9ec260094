#include "treaty/backends/bridge/question.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <string_view>

#include "treaty/base/ids.h"
#include "treaty/base/json_dynamic.h"
#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"

namespace treaty::backends {
namespace {

using boost::json::array;
using boost::json::object;

// Schemas that are deeper go as text, so that the request stays within the depth of a document.
constexpr std::size_t kDeepest = 48;

std::string readable(std::string_view text) {
  return is_utf8(text) ? std::string(text) : repaired_utf8(text);
}

// --- For people and models -------------------------------------------------------------------

std::string text_of(const Part& part) {
  if (const auto* text = std::get_if<TextPart>(&part)) return readable(text->text);
  const auto& image = std::get<ImagePart>(part);
  return fmt::format("[a picture, {}; it is in context.messages]", readable(image.media_type));
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
  std::string text = readable(message.text);
  for (const auto& call : message.tool_calls) {
    if (!text.empty()) text += '\n';
    text += fmt::format("[calls the tool {} as {}: {}]", readable(call.name), readable(call.id),
                        readable(call.arguments));
  }
  return text;
}

std::string text_of(const ToolMessage& message) { return readable(message.content); }

std::string title_of(const UserMessage& /*message*/) { return "user"; }
std::string title_of(const AssistantMessage& /*message*/) { return "you"; }
std::string title_of(const ToolMessage& message) {
  return fmt::format("result of {}, {}{}", readable(message.tool_name),
                     readable(message.tool_call_id), message.failed ? ", which failed" : "");
}

// Parts of the prompt, each under a heading of its own.
struct Section {
  std::string title;
  std::string text;
};

std::string text_of_tools(const Call& call) {
  std::string text;
  for (const Tool& tool : call.tools) {
    text +=
        fmt::format("{}: {}\nparameters: {}\n\n", readable(tool.name), readable(tool.description),
                    tool.parameters_json.empty() ? "{}" : readable(tool.parameters_json));
  }
  return text +
         "To call them, answer with metadata.agent_result.tool_calls: a list of "
         "{\"id\", \"name\", \"arguments\"}, the arguments as JSON in a string.";
}

std::vector<Section> sections_of(const Call& call) {
  std::vector<Section> sections;
  if (!is_blank(call.system)) sections.push_back({"instructions", readable(call.system)});
  if (!call.tools.empty()) sections.push_back({"tools", text_of_tools(call)});
  if (call.output) {
    sections.push_back({"form of the answer", "JSON that fits this schema, and nothing else:\n" +
                                                  readable(call.output->schema_json)});
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

boost::json::value json_or_text(std::string_view text) {
  const json::Document document(text, {.max_depth = kDeepest, .max_faults = 1});
  if (document.root() && document.faults().empty()) return json::to_dynamic(*document.root());
  return boost::json::value(readable(text));
}

object object_of(const UserMessage& message) {
  array parts;
  for (const Part& part : message.parts) {
    if (const auto* text = std::get_if<TextPart>(&part)) {
      parts.push_back(object{{"type", "text"}, {"text", readable(text->text)}});
    } else {
      const auto& image = std::get<ImagePart>(part);
      parts.push_back(object{{"type", "image"},
                             {"media_type", readable(image.media_type)},
                             {"base64", readable(image.base64)}});
    }
  }
  return {{"role", "user"}, {"content", std::move(parts)}};
}

object object_of(const AssistantMessage& message) {
  array calls;
  for (const auto& call : message.tool_calls) {
    calls.push_back(object{{"id", readable(call.id)},
                           {"name", readable(call.name)},
                           {"arguments", readable(call.arguments)}});
  }
  return {
      {"role", "assistant"}, {"content", readable(message.text)}, {"tool_calls", std::move(calls)}};
}

object object_of(const ToolMessage& message) {
  return {{"role", "tool"},
          {"tool_call_id", readable(message.tool_call_id)},
          {"name", readable(message.tool_name)},
          {"content", readable(message.content)},
          {"failed", message.failed}};
}

object context_of(const Call& call) {
  object context;
  if (!call.system.empty()) context["system"] = readable(call.system);
  array messages;
  for (const Message& message : call.messages) {
    messages.push_back(std::visit([](const auto& said) { return object_of(said); }, message));
  }
  context["messages"] = std::move(messages);
  array tools;
  for (const Tool& tool : call.tools) {
    tools.push_back(
        object{{"name", readable(tool.name)},
               {"description", readable(tool.description)},
               {"parameters", tool.parameters_json.empty() ? boost::json::value(object())
                                                           : json_or_text(tool.parameters_json)}});
  }
  if (!tools.empty()) context["tools"] = std::move(tools);
  if (call.output) context["output_schema"] = json_or_text(call.output->schema_json);
  if (call.max_output_tokens) context["max_output_tokens"] = *call.max_output_tokens;
  if (call.temperature) context["temperature"] = *call.temperature;
  return context;
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
          .model = call.model.empty() ? std::nullopt : std::optional(readable(call.model))};
}

}  // namespace treaty::backends
