// Requests of OpenAI's Responses, written and read: a list of items instead of messages. Nothing is
// kept at the provider.
#include "treaty/backends/protocols/models.h"
#include "treaty/backends/protocols/request_parts.h"

namespace treaty::backends {
namespace {

using json::find_member;
using json::find_text;

constexpr SettingNames kSettings = {.max_tokens = "max_output_tokens", .stop = ""};

void write_user(json::Writer& writer, const UserMessage& message) {
  writer.begin_object().member("role", "user").name("content");
  writer.objects(message.parts, [&](const Part& part) {
    if (const auto* text = std::get_if<TextPart>(&part)) {
      writer.member("type", "input_text");
      write_text(writer, "text", text->text);
    } else {
      writer.member("type", "input_image");
      write_text(writer, "image_url", data_url(std::get<ImagePart>(part)));
    }
  });
  writer.end_object();
}

bool is_item(const results::Thought& thought) {
  const ThoughtReader reader(thought);
  const std::string_view type = find_text(reader.object(), "type");
  return type == "reasoning" || type == "message";
}

void write_assistant(json::Writer& writer, const Call& call, const ToolIds& ids,
                     std::size_t place) {
  const auto& message = std::get<AssistantMessage>(call.messages[place]);
  std::string phase;  // JSON, of the next text.
  const auto on_text = [&](std::string_view text) {
    writer.begin_object().member("role", "assistant");
    write_text(writer, "content", text);
    if (!phase.empty()) writer.name("phase").raw(std::exchange(phase, {}));
    writer.end_object();
  };
  const auto on_call = [&](std::size_t i) {
    phase.clear();
    const contracts::AgentToolCall& made = message.tool_calls[i];
    writer.begin_object().member("type", "function_call");
    write_text(writer, "call_id", ids.of_call(place, i));
    write_text(writer, "name", made.name);
    write_text(writer, "arguments", made.arguments.empty() ? "{}" : made.arguments);
    writer.end_object();
  };
  // A reasoning item without the item that it led to is refused.
  const auto on_thought = [&](const results::Thought& thought, bool is_last) {
    const ThoughtReader reader(thought);
    if (const auto of_text = find_member(reader.object(), "phase")) {
      phase = of_text->source();
    } else if (!is_last) {
      writer.raw(thought.json);
    }
  };
  each_part(message, thoughts_to_send(call, message), is_item, on_text, on_call, on_thought);
}

void write_input(json::Writer& writer, const Call& call) {
  const ToolIds ids(call.messages, {.anything_else = true});
  writer.name("input").begin_array();
  each_message(
      call.messages, [&](const auto& user) { write_user(writer, user); },
      [&](const auto&, std::size_t i) { write_assistant(writer, call, ids, i); },
      [&](const auto& result, std::size_t i) {
        writer.begin_object().member("type", "function_call_output");
        write_text(writer, "call_id", ids.of_result(i));
        write_text(writer, "output", result_text(result));
        writer.end_object();
      });
  writer.end_array();
}

// `strict` is on unless it is said otherwise, and most schemas are not written for it.
void write_tools(json::Writer& writer, const std::vector<Tool>& tools) {
  if (tools.empty()) return;
  writer.name("tools").objects(tools, [&](const Tool& tool) {
    write_tool(writer.member("type", "function"), tool, "parameters");
    writer.member("strict", false);
  });
}

void write_text_format(json::Writer& writer, const Call& call, const RequestStyle& style) {
  if (!call.output) return;
  const OutputForm form = output_form_of(call, style);
  if (form.is_silent()) return;
  writer.name("text").begin_object().name("format").begin_object();
  if (form.as_json_object) {
    writer.member("type", "json_object");
  } else {
    writer.member("type", "json_schema");
    write_text(writer, "name", call.output->name);
    writer.member("strict", form.is_strict).name("schema");
    writer.raw(object_or(call.output->schema_json, "{}"));
  }
  writer.end_object().end_object();
}

// Models that do not reason refuse to be asked for it.
void write_reasoning(json::Writer& writer, const Call& call, const RequestStyle& style) {
  const std::optional<Effort> effort = call.reasoning ? call.reasoning->effort : std::nullopt;
  const bool reasons = effort || encrypts_reasoning(call.model);
  const bool shows = call.shows_thinking && reasons;
  if (effort || shows) {
    writer.name("reasoning").begin_object();
    if (effort) writer.member("effort", name_of(*effort));
    if (shows) writer.member("summary", "auto");
    writer.end_object();
  }
  if (!style.encrypts_reasoning || !reasons) return;
  writer.name("include").begin_array().value("reasoning.encrypted_content").end_array();
}

void read_reasoning(Call& call, std::optional<json::Value> reasoning) {
  call.shows_thinking = find_member(reasoning, "summary").has_value();
  if (const auto effort = effort_of(find_text(reasoning, "effort"))) {
    call.reasoning = Reasoning{.effort = effort};
  }
}

void read_item(ReceivedMessages& messages, json::Value item) {
  const std::string_view type = find_text(item, "type");
  const std::string_view role = find_text(item, "role");
  const auto content = find_member(item, "content");
  if (type == "function_call_output" || type == "custom_tool_call_output") {
    messages.add_result({.tool_call_id = std::string(find_text(item, "call_id")),
                         .tool_name = {},
                         .content = content_text(find_member(item, "output"))});
  } else if (type == "function_call") {
    messages.add_call(tool_call(find_text(item, "call_id"), find_text(item, "name"),
                                find_member(item, "arguments")));
  } else if (type == "reasoning") {
    messages.add_thought(std::string(item.source()));
  } else if (role == "user") {
    messages.add_user(content);
  } else if (role == "assistant") {
    if (auto phase = phase_of(item)) messages.add_thought(*std::move(phase));
    messages.add_text_part(content_text(content));
  } else if (role == "system" || role == "developer") {
    messages.add_system(content_text(content));
  }
}

}  // namespace

std::string render_responses(const Call& call, const RequestStyle& style) {
  json::Writer writer;
  writer.begin_object();
  if (style.model_in_body) write_text(writer, "model", call.model);
  const std::string system = system_of(call, style);
  if (!system.empty()) write_text(writer, "instructions", system);
  write_input(writer, call);
  write_tools(writer, call.tools);
  write_text_format(writer, call, style);
  write_settings(writer, call, settings_taken(call, style, kSettings));
  write_reasoning(writer, call, style);
  const std::string key = style.responses_cache_key ? prompt_cache_key(call) : "";
  if (!key.empty()) writer.member("prompt_cache_key", key);
  write_cache_control(writer, call, style);
  writer.member("store", false);
  if (call.stream) writer.member("stream", true);
  return writer.end_object().take();
}

std::string read_responses(ReceivedRequest& request, json::Value root) {
  const auto input = find_member(root, "input");
  if (!input) return "Missing required parameter: 'input'.";
  ReceivedMessages received;
  received.add_system(find_text(root, "instructions"));
  if (input->is_string()) {
    received.add_user(input);
  } else if (is_filled_array(input)) {
    for (const json::Value item : input->elements()) read_item(received, item);
  } else {
    return "Invalid 'input': expected a string or an array with an item.";
  }
  received.move_to(request.call);
  for (const json::Value tool : json::elements_of(find_member(root, "tools"))) {
    read_tool(request.call, tool, "parameters");
  }
  read_output_format(request.call, find_member(find_member(root, "text"), "format"));
  read_settings(request.call, root, kSettings);
  read_reasoning(request.call, find_member(root, "reasoning"));
  return {};
}

}  // namespace treaty::backends
