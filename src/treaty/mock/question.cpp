#include "treaty/mock/question.h"

#include <fmt/format.h>

#include <optional>

#include "treaty/base/json.h"

namespace treaty::mock {
namespace {

using json::Value;

std::optional<Value> member(std::optional<Value> object, std::string_view name) {
  return json::find_member(object, name);
}

std::string text_member(std::optional<Value> object, std::string_view name) {
  return std::string(json::find_text(object, name));
}

bool is_true(std::optional<Value> object, std::string_view name) {
  const auto value = member(object, name);
  return value && value->is_boolean() && value->boolean();
}

bool is_filled_array(std::optional<Value> value) {
  return value && value->is_array() && !value->elements().empty();
}

// A text, or the texts of a list of parts.
std::string words_of(std::optional<Value> content) {
  if (!content) return {};
  if (content->is_string()) return std::string(content->text());
  if (!content->is_array()) return {};
  std::string text;
  for (const Value part : content->elements()) {
    text += part.is_string() ? std::string(part.text()) : text_member(part, "text");
  }
  return text;
}

void user_said(backends::Asked& asked, std::string text) {
  asked.user_text = std::move(text);
  asked.tool_results.clear();
}

void take_tool(backends::Asked& asked, Value tool, std::string_view schema_name) {
  std::string name = text_member(tool, "name");
  if (name.empty()) return;
  const auto schema = member(tool, schema_name);
  asked.tools.push_back({std::move(name), schema ? std::string(schema->source()) : ""});
}

// Chat completions, legacy function messages and Ollama's messages.
void read_chat_messages(backends::Asked& asked, Value messages) {
  for (const Value message : messages.elements()) {
    const std::string role = text_member(message, "role");
    if (role == "user") {
      user_said(asked, words_of(member(message, "content")));
    } else if (role == "tool" || role == "function") {
      asked.tool_results.push_back(words_of(member(message, "content")));
    } else if (role == "assistant") {
      asked.tool_results.clear();
    }
  }
}

void read_chat_tools(backends::Asked& asked, Value root) {
  const auto tools = member(root, "tools");
  if (!is_filled_array(tools)) return;
  for (const Value tool : tools->elements()) {
    if (const auto function = member(tool, "function")) take_tool(asked, *function, "parameters");
  }
}

void read_response_format(backends::Asked& asked, std::optional<Value> format) {
  const std::string type = text_member(format, "type");
  if (type == "json_object") asked.output_schema_json = "{}";
  if (type != "json_schema") return;
  auto schema = member(member(format, "json_schema"), "schema");
  if (!schema) schema = member(format, "schema");
  asked.output_schema_json = schema ? std::string(schema->source()) : "{}";
}

std::string read_chat(Question& question, Value root) {
  const auto messages = member(root, "messages");
  if (!messages) return "Missing required parameter: 'messages'.";
  if (!is_filled_array(messages)) return "Invalid 'messages': expected an array with a message.";
  read_chat_messages(question.asked, *messages);
  read_chat_tools(question.asked, root);
  read_response_format(question.asked, member(root, "response_format"));
  question.include_usage = is_true(member(root, "stream_options"), "include_usage");
  return {};
}

std::string read_completions(Question& question, Value root) {
  const auto prompt = member(root, "prompt");
  if (!prompt) return "Missing required parameter: 'prompt'.";
  user_said(question.asked, words_of(prompt));
  question.include_usage = is_true(member(root, "stream_options"), "include_usage");
  return {};
}

void read_responses_item(backends::Asked& asked, Value item) {
  const std::string type = text_member(item, "type");
  const std::string role = text_member(item, "role");
  if (type == "function_call_output" || type == "custom_tool_call_output") {
    asked.tool_results.push_back(words_of(member(item, "output")));
  } else if (role == "user") {
    user_said(asked, words_of(member(item, "content")));
  } else if (role == "assistant" || type == "function_call") {
    asked.tool_results.clear();
  }
}

std::string read_responses(Question& question, Value root) {
  const auto input = member(root, "input");
  if (!input) return "Missing required parameter: 'input'.";
  if (input->is_string()) {
    user_said(question.asked, std::string(input->text()));
  } else if (is_filled_array(input)) {
    for (const Value item : input->elements()) read_responses_item(question.asked, item);
  } else {
    return "Invalid 'input': expected a string or an array with an item.";
  }
  const auto tools = member(root, "tools");
  if (is_filled_array(tools)) {
    for (const Value tool : tools->elements()) take_tool(question.asked, tool, "parameters");
  }
  read_response_format(question.asked, member(member(root, "text"), "format"));
  return {};
}

void read_anthropic_message(backends::Asked& asked, Value message) {
  const auto content = member(message, "content");
  if (text_member(message, "role") != "user") {
    asked.tool_results.clear();
    return;
  }
  std::vector<std::string> results;
  if (content && content->is_array()) {
    for (const Value block : content->elements()) {
      if (text_member(block, "type") != "tool_result") continue;
      results.push_back(words_of(member(block, "content")));
    }
  }
  if (results.empty()) {
    user_said(asked, words_of(content));
  } else {
    asked.tool_results = std::move(results);
  }
}

std::string read_messages(Question& question, Value root) {
  const auto messages = member(root, "messages");
  if (!member(root, "max_tokens")) return "max_tokens: Field required";
  if (!messages) return "messages: Field required";
  if (!is_filled_array(messages)) return "messages: at least one message is required";
  for (const Value message : messages->elements()) {
    read_anthropic_message(question.asked, message);
  }
  const auto tools = member(root, "tools");
  if (is_filled_array(tools)) {
    for (const Value tool : tools->elements()) take_tool(question.asked, tool, "input_schema");
  }
  read_response_format(question.asked, member(member(root, "output_config"), "format"));
  return {};
}

void read_gemini_content(backends::Asked& asked, Value content) {
  if (text_member(content, "role") == "model") {
    asked.tool_results.clear();
    return;
  }
  const auto parts = member(content, "parts");
  if (!is_filled_array(parts)) return;
  std::vector<std::string> results;
  for (const Value part : parts->elements()) {
    const auto response = member(member(part, "functionResponse"), "response");
    if (response) results.push_back(json::minified(*response));
  }
  if (results.empty()) {
    user_said(asked, words_of(parts));
  } else {
    asked.tool_results = std::move(results);
  }
}

std::string read_gemini(Question& question, Value root) {
  const auto contents = member(root, "contents");
  if (!is_filled_array(contents))
    return "* GenerateContentRequest.contents: contents is not specified";
  for (const Value content : contents->elements()) read_gemini_content(question.asked, content);
  const auto tools = member(root, "tools");
  if (is_filled_array(tools)) {
    for (const Value tool : tools->elements()) {
      const auto functions = member(tool, "functionDeclarations");
      if (!is_filled_array(functions)) continue;
      for (const Value function : functions->elements()) {
        take_tool(question.asked, function, "parameters");
      }
    }
  }
  const auto config = member(root, "generationConfig");
  if (text_member(config, "responseMimeType") == "application/json") {
    const auto schema = member(config, "responseSchema");
    question.asked.output_schema_json = schema ? std::string(schema->source()) : "{}";
  }
  return {};
}

std::string read_ollama(Question& question, Value root) {
  const auto messages = member(root, "messages");
  if (messages && messages->is_array()) read_chat_messages(question.asked, *messages);
  read_chat_tools(question.asked, root);
  const auto stream = member(root, "stream");
  question.asked.stream = !stream || !stream->is_boolean() || stream->boolean();
  const auto format = member(root, "format");
  if (format && format->is_object()) question.asked.output_schema_json = format->source();
  if (format && format->is_string()) question.asked.output_schema_json = "{}";
  return {};
}

std::string read_body(Question& question, Endpoint endpoint, Value root) {
  switch (endpoint) {
    case Endpoint::chat_completions: return read_chat(question, root);
    case Endpoint::completions: return read_completions(question, root);
    case Endpoint::responses: return read_responses(question, root);
    case Endpoint::messages: return read_messages(question, root);
    case Endpoint::generate_content: return read_gemini(question, root);
    case Endpoint::ollama_chat: return read_ollama(question, root);
    case Endpoint::models: break;
  }
  return {};
}

}  // namespace

std::expected<Question, std::string> read_question(const Route& route, std::string_view target,
                                                   std::string_view body) {
  // Names that repeat and huge numbers are the caller's business, as with the real ones.
  const json::Document document(body, {.max_depth = 512, .grammar_only = true});
  const auto root = document.root();
  if (!root || !document.faults().empty()) {
    return std::unexpected(fmt::format(
        "We could not parse the JSON body of your request. {}",
        document.faults().empty() ? "It is empty." : document.faults().front().message));
  }
  if (!root->is_object()) return std::unexpected("The JSON body of your request is no object.");
  Question question;
  question.asked.path = path_of(target);
  question.asked.model = text_member(root, "model");
  if (question.asked.model.empty()) question.asked.model = route.model;
  question.asked.stream = route.stream || is_true(root, "stream");
  question.asked.prompt_bytes = body.size();
  if (question.asked.model.empty()) {
    return std::unexpected(route.endpoint == Endpoint::messages
                               ? "model: Field required"
                               : "you must provide a model parameter");
  }
  if (std::string fault = read_body(question, route.endpoint, *root); !fault.empty()) {
    return std::unexpected(std::move(fault));
  }
  return question;
}

}  // namespace treaty::mock
