// Requests of Chat Completions, as OpenAI defined it and most providers speak it, and of its legacy
// predecessor, written and read.
#include "treaty/backends/protocols/chat_reasoning.h"
#include "treaty/backends/protocols/models.h"
#include "treaty/backends/protocols/request_parts.h"

namespace treaty::backends {
namespace {

using json::find_member;
using json::find_text;

constexpr std::size_t kLongestOpenAiId = 40;

// Mistral takes exactly nine letters or digits. Elsewhere an id goes back as it came: what a model
// thought may name the id of the call that it led to, and some servers keep a signature in the id.
IdRule id_rule_of(const Call& call, const RequestStyle& style) {
  if (style.short_tool_call_ids) {
    return {.least = 9, .most = 9, .dash_and_underscore = false, .anything_else = false};
  }
  const bool is_limited = style.limits_tool_call_ids || is_served_by_openai(call.model);
  return {.most = is_limited ? kLongestOpenAiId : std::string::npos, .anything_else = true};
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
    writer.array(message.parts, [&](const Part& part) { write_part(writer, part); });
  }
  writer.end_object();
}

void write_calls(json::Writer& writer, const std::vector<contracts::AgentToolCall>& calls,
                 std::span<const results::Thought> thoughts, const ToolIds& ids,
                 std::size_t place) {
  if (calls.empty()) return;
  writer.name("tool_calls").begin_array();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    writer.begin_object();
    write_text(writer, "id", ids.of_call(place, i));
    writer.member("type", "function").name("function").begin_object();
    write_text(writer, "name", calls[i].name);
    write_text(writer, "arguments", calls[i].arguments.empty() ? "{}" : calls[i].arguments);
    writer.end_object();
    write_call_thought(writer, thoughts, i);
    writer.end_object();
  }
  writer.end_array();
}

// Stands for reasoning that is not known where a message without any is refused. DeepSeek takes an
// empty text from some models only.
constexpr std::string_view kUnknownReasoning = " ";

void write_thoughts(json::Writer& writer, const Call& call, const RequestStyle& style,
                    std::span<const results::Thought> thoughts) {
  const bool is_routed = style.routes_to_deepseek && is_deepseek(call.model);
  if (is_routed ? write_reasoning_content(writer, thoughts)
                : write_chat_reasoning(writer, thoughts)) {
    return;
  }
  if ((style.needs_chat_thoughts || is_routed) && !call.tools.empty()) {
    writer.member("reasoning_content", kUnknownReasoning);
  }
}

void write_assistant(json::Writer& writer, const Call& call, const RequestStyle& style,
                     const ToolIds& ids, std::size_t place) {
  const auto& message = std::get<AssistantMessage>(call.messages[place]);
  auto thoughts = thoughts_to_send(call, message);
  if (!style.takes_chat_thoughts) thoughts = {};
  writer.begin_object().member("role", "assistant");
  if (!write_content_with_thoughts(writer, message, thoughts)) {
    writer.name("content");
    if (message.text.empty() && !message.tool_calls.empty()) {
      writer.null();
    } else {
      write_text(writer, message.text);
    }
  }
  write_thoughts(writer, call, style, thoughts);
  write_calls(writer, message.tool_calls, thoughts, ids, place);
  const bool is_prefill = place + 1 == call.messages.size() && ends_with_prefill(call);
  if (is_prefill && style.prefill == Prefill::prefix_member) writer.member("prefix", true);
  writer.end_object();
}

void write_messages(json::Writer& writer, const Call& call, const RequestStyle& style) {
  const ToolIds ids(call.messages, id_rule_of(call, style));
  const std::string system = system_of(call, style);
  writer.name("messages").begin_array();
  if (!system.empty()) {
    writer.begin_object().member("role", style.developer_role ? "developer" : "system");
    write_text(writer, "content", system);
    writer.end_object();
  }
  each_message(
      call.messages, [&](const auto& user) { write_user(writer, user); },
      [&](const auto&, std::size_t i) { write_assistant(writer, call, style, ids, i); },
      [&](const auto& result, std::size_t i) {
        writer.begin_object().member("role", "tool");
        write_text(writer, "tool_call_id", ids.of_result(i));
        write_text(writer, "content", result_text(result));
        writer.end_object();
      });
  writer.end_array();
}

void write_response_format(json::Writer& writer, const Call& call, const RequestStyle& style) {
  if (!call.output) return;
  const OutputForm form = output_form_of(call, style);
  if (form.is_silent()) return;
  writer.name("response_format").begin_object();
  if (form.as_json_object) {  // That mode wants the word JSON in the text, where the schema is.
    writer.member("type", "json_object");
  } else {
    writer.member("type", "json_schema").name("json_schema").begin_object();
    write_text(writer, "name", call.output->name);
    writer.member("strict", form.is_strict);
    writer.name("schema").raw(object_or(call.output->schema_json, "{}")).end_object();
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

void write_prefill(json::Writer& writer, const Call& call, const RequestStyle& style) {
  if (style.prefill != Prefill::continue_final_message || !ends_with_prefill(call)) return;
  writer.member("continue_final_message", true).member("add_generation_prompt", false);
}

void write_cache_key(json::Writer& writer, const Call& call, const RequestStyle& style) {
  const std::string key = style.chat_cache_key ? prompt_cache_key(call) : "";
  if (!key.empty()) writer.member("prompt_cache_key", key);
}

// A conversation as one text, for models that only go on writing.
std::string prompt_of(const Call& call) {
  std::string out = call.system;
  const auto add = [&](std::string_view text) {
    if (!out.empty()) out += "\n\n";
    out += text;
  };
  each_message(
      call.messages, [&](const auto& user) { add(joined_text(user)); },
      [&](const auto& assistant, std::size_t) { add(assistant.text); },
      [&](const auto& result, std::size_t) { add(result_text(result)); });
  return out;
}

void read_call(ReceivedMessages& messages, json::Value call) {
  auto function = find_member(call, "function");
  if (!function) function = call;  // The legacy `function_call`.
  if (auto thought = thought_of_call(call)) messages.add_placed_thought(*std::move(thought));
  messages.add_call(tool_call(find_text(call, "id"), find_text(function, "name"),
                              find_member(function, "arguments")));
}

void read_assistant(ReceivedMessages& messages, json::Value message) {
  messages.add_assistant_text(content_text(find_member(message, "content")));
  messages.add_thoughts(read_chat_thoughts(message));
  for (const json::Value call : json::elements_of(find_member(message, "tool_calls"))) {
    read_call(messages, call);
  }
  if (const auto call = find_member(message, "function_call")) read_call(messages, *call);
}

void read_message(ReceivedMessages& messages, json::Value message) {
  const std::string_view role = find_text(message, "role");
  const auto content = find_member(message, "content");
  if (role == "system" || role == "developer") {
    messages.add_system(content_text(content));
  } else if (role == "user") {
    messages.add_user(content);
  } else if (role == "assistant") {
    read_assistant(messages, message);
  } else if (role == "tool" || role == "function") {
    messages.add_result({.tool_call_id = std::string(find_text(message, "tool_call_id")),
                         .tool_name = std::string(find_text(message, "name")),
                         .content = content_text(content)});
  }
}

bool wants_usage(json::Value root) {
  return is_true(find_member(find_member(root, "stream_options"), "include_usage"));
}

void read_all_settings(Call& call, json::Value root) {
  const bool is_new = find_member(root, "max_completion_tokens").has_value();
  read_settings(call, root, names_after(is_new ? "max_completion_tokens" : "max_tokens"));
}

}  // namespace

std::string render_chat_completions(const Call& call, const RequestStyle& style) {
  json::Writer writer;
  writer.begin_object();
  if (style.model_in_body) write_text(writer, "model", call.model);
  write_messages(writer, call, style);
  write_function_tools(writer, call.tools);
  write_response_format(writer, call, style);
  write_settings(writer, call, settings_taken(call, style, names_after(style.max_tokens_name)));
  write_chat_effort(writer, call, style);
  write_prefill(writer, call, style);
  write_cache_key(writer, call, style);
  write_cache_control(writer, call, style);
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

std::string read_chat_completions(ReceivedRequest& request, json::Value root) {
  const auto messages = find_member(root, "messages");
  if (!messages) return "Missing required parameter: 'messages'.";
  if (!is_filled_array(messages)) return "Invalid 'messages': expected an array with a message.";
  ReceivedMessages received;
  for (const json::Value message : messages->elements()) read_message(received, message);
  received.move_to(request.call);
  read_function_tools(request.call, root);
  read_output_format(request.call, find_member(root, "response_format"));
  read_all_settings(request.call, root);
  read_chat_effort(request.call, root);
  request.include_usage = wants_usage(root);
  return {};
}

std::string read_completions(ReceivedRequest& request, json::Value root) {
  const auto prompt = find_member(root, "prompt");
  if (!prompt) return "Missing required parameter: 'prompt'.";
  request.call.messages.push_back(UserMessage{{TextPart{content_text(prompt)}}});
  read_all_settings(request.call, root);
  request.include_usage = wants_usage(root);
  return {};
}

}  // namespace treaty::backends
