// Requests as each protocol writes and reads them, and what they share: texts, embedded JSON,
// images, settings, tools, ids of tool calls. Pure.
//
// Whatever a Call holds, the rendered body is valid JSON: schemas and arguments that cannot be
// embedded are replaced or wrapped, bytes that are not UTF-8 become U+FFFD. Rendering a request
// that was read from a rendered one gives the same bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/backends/call.h"
#include "treaty/backends/protocols/protocol.h"
#include "treaty/backends/protocols/wire.h"
#include "treaty/base/json.h"
#include "treaty/base/json_write.h"

namespace treaty::backends {

std::string render_chat_completions(const Call& call, const RequestStyle& style);
std::string render_completions(const Call& call, const RequestStyle& style);  // The legacy one.
std::string render_responses(const Call& call, const RequestStyle& style);
std::string render_anthropic_messages(const Call& call, const RequestStyle& style);
std::string render_gemini(const Call& call, const RequestStyle& style);
std::string render_ollama(const Call& call, const RequestStyle& style);

std::string path_of_gemini(const Call& call);  // Names the model and whether to stream.

// Each fills in what stands in the body beside the model, and returns what a provider would say
// about a request that it refuses; empty: nothing is wrong.
std::string read_chat_completions(ReceivedRequest& request, json::Value root);
std::string read_completions(ReceivedRequest& request, json::Value root);
std::string read_responses(ReceivedRequest& request, json::Value root);
std::string read_anthropic_messages(ReceivedRequest& request, json::Value root);
std::string read_gemini(ReceivedRequest& request, json::Value root);
std::string read_ollama(ReceivedRequest& request, json::Value root);

// Writes a string; bytes that are not UTF-8 become U+FFFD.
void write_text(json::Writer& writer, std::string_view text);
void write_text(json::Writer& writer, std::string_view name, std::string_view text);

// `text` when it is a JSON object without faults that may be embedded as it is, else `otherwise`.
std::string object_or(std::string_view text, std::string_view otherwise);

// Arguments of a tool call for protocols that want an object: what is no object becomes
// {"text": …}, and nothing becomes {}.
std::string arguments_object(std::string_view arguments);

// The schema of a tool's parameters; a tool without any takes an empty object.
std::string parameters_of(const Tool& tool);

// A tool's result for protocols that have no place to say that it failed: the text says so itself.
std::string result_text(const ToolMessage& result);

// data:image/png;base64,…
std::string data_url(const ImagePart& image);
std::optional<ImagePart> read_data_url(std::string_view url);

// The text of all text parts of a message, line by line.
std::string joined_text(const UserMessage& message);

// max tokens, temperature, sampling and stop under the names that a protocol has for them; an empty
// name: the protocol does not know it.
struct SettingNames {
  std::string_view max_tokens;
  std::string_view temperature = "temperature";
  std::string_view top_p = "top_p";
  std::string_view top_k{};
  std::string_view frequency_penalty{};
  std::string_view presence_penalty{};
  std::string_view seed{};
  std::string_view stop = "stop";
};
void write_settings(json::Writer& writer, const Call& call, const SettingNames& names);

// Without the names of what this model of the provider refuses.
SettingNames settings_taken(const Call& call, const RequestStyle& style, SettingNames names);
void read_settings(Call& call, std::optional<json::Value> object, const SettingNames& names);

// Name, description and, under what the protocol calls it, the schema of its parameters.
void write_tool(json::Writer& writer, const Tool& tool, std::string_view schema);

// [{"type":"function","function":{…}}], as Chat Completions and Ollama write tools.
void write_function_tools(json::Writer& writer, const std::vector<Tool>& tools);
void read_function_tools(Call& call, json::Value root);

// One declaration of a tool; one without a name is passed over. `schema` is what the protocol calls
// the schema of its parameters.
void read_tool(Call& call, json::Value tool, std::string_view schema);

// {"type":"json_schema",…}, flat or under `json_schema`, or {"type":"json_object"}.
void read_output_format(Call& call, std::optional<json::Value> format);

// The system text of a call with `output`, with its schema in words: for providers and models that
// cannot be held to it.
std::string system_with_schema(const Call& call);

// How an OpenAI-like provider is asked for the JSON of a call with `output`: held to the schema, or
// told it in words, with or without its mode for any JSON object.
struct OutputForm {
  bool in_words = false;
  bool as_json_object = false;
  bool is_strict = false;

  bool is_silent() const { return in_words && !as_json_object; }  // No format beside the words.
};
OutputForm output_form_of(const Call& call, const RequestStyle& style);

// The system text, with the schema where it has to be told in words.
std::string system_of(const Call& call, const RequestStyle& style);

bool is_filled_array(std::optional<json::Value> value);

// A text, or the texts of all parts of a list.
std::string content_text(std::optional<json::Value> content);

// Where a provider keeps prompts under a name: one for the conversation that tells nothing of it.
// Empty when prompts shall not be kept, or it has no name.
std::string prompt_cache_key(const Call& call);

// `cache_control` of the whole request, where the provider marks the parts of it.
void write_cache_control(json::Writer& writer, const Call& call, const RequestStyle& style);

// Whether the call ends with a message of the assistant that the answer shall go on with.
bool ends_with_prefill(const Call& call);

// Whose thoughts a request holds when nothing is known but the request.
constexpr std::string_view kReceivedAuthor = "request";

// The messages of a request that is being read.
class ReceivedMessages {
 public:
  // The parts of a user's message: strings, objects with a `text`, images that carry their data.
  void add_user(std::optional<json::Value> content);
  void add_user_part(Part part);  // To the user's message that is open, else to a new one.
  void end_message() { is_open_ = false; }
  void add_result(ToolMessage result) { messages_.emplace_back(std::move(result)); }

  // A message of the assistant for every text, followed by the calls that come after it.
  void add_assistant_text(std::string text);
  void add_call(contracts::AgentToolCall call);

  // For protocols that list an answer part by part: a thought begins a message, and the text right
  // behind it is part of that.
  void add_thought(std::string json);
  void add_text_part(std::string text);

  // At the end of the newest message of the assistant, as far as it goes.
  void add_placed_thought(std::string json);

  // Thoughts of the newest message of the assistant, in which they have their places.
  void add_thoughts(std::vector<results::Thought> thoughts);

  void add_system(std::string_view text);  // Several texts are separated by an empty line.

  void move_to(Call& call);

 private:
  AssistantMessage* newest_assistant();  // Null when the newest message is none.

  std::vector<Message> messages_{};
  std::string system_{};
  bool is_open_ = false;  // The last user's message may get more parts.
  bool has_thoughts_ = false;
};

// Puts parts that follow each other under one role into one message: protocols whose roles take
// turns refuse two in a row.
class RoleTurns {
 public:
  // `list` is what the protocol calls the parts of a message.
  RoleTurns(json::Writer& writer, std::string_view list) : writer_(writer), list_(list) {}

  // The next part is one of `role`.
  void turn_to(std::string_view role);

  // Opens an object for a part of `role`; the caller closes it.
  json::Writer& part(std::string_view role);

  // A whole part of `role`, as JSON.
  void raw_part(std::string_view role, std::string_view json);

  void close();

 private:
  json::Writer& writer_;
  std::string_view list_;
  std::string_view role_{};
};

// Gives every message, with its place, to the function of its kind.
template <class OnUser, class OnAssistant, class OnResult>
void each_message(const Messages& messages, const OnUser& on_user, const OnAssistant& on_assistant,
                  const OnResult& on_result) {
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (const auto* user = std::get_if<UserMessage>(&messages[i])) {
      on_user(*user);
    } else if (const auto* assistant = std::get_if<AssistantMessage>(&messages[i])) {
      on_assistant(*assistant, i);
    } else {
      on_result(std::get<ToolMessage>(messages[i]), i);
    }
  }
}

// Which ids of tool calls a protocol takes.
struct IdRule {
  std::size_t least = 1;
  std::size_t most = 64;
  bool dash_and_underscore = true;  // Beside letters and digits.
  bool anything_else = false;
};

// The ids of tool calls as one request writes them. Ids that another protocol made are kept where
// the rule allows; others are made anew from them, the same on every rendering, different for
// different calls, and equal for a call and its result. Calls without an id get one by their place.
class ToolIds {
 public:
  ToolIds(const Messages& messages, const IdRule& rule);

  std::string_view of_call(std::size_t message, std::size_t call) const {
    return ids_[message][call];
  }
  std::string_view of_result(std::size_t message) const { return ids_[message][0]; }

 private:
  std::vector<std::vector<std::string>> ids_;  // By message: one per call, or one of the result.
};

}  // namespace treaty::backends
