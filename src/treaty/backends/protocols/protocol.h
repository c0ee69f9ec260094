// A protocol is a wire format, seen from both sides: a client renders requests and parses answers,
// a server reads requests and writes answers. Protocols are pure; a Provider says who is called and
// where.
//
//   const Protocol& protocol = chat_completions();
//   // A client: ask, and read the answer.
//   std::string body = protocol.render_request(call, style);
//   results::Answer answer = protocol.parse_response(answer_body);
//
//   // A server: read the request, and answer it.
//   auto request = parse_request(protocol, body, {});
//   std::string answer_body = protocol.write_answer(outgoing);
//
// Thread rule: protocols are constants and keep no state; any thread may use them at any time.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/backends/call.h"
#include "treaty/backends/protocols/outgoing.h"
#include "treaty/backends/protocols/thoughts.h"
#include "treaty/base/json.h"
#include "treaty/results/answer.h"

namespace treaty::backends {

// Whether models continue a message of the assistant at the end of a request, and how they are
// asked to: by its place alone, by `prefix` in the message, or by `continue_final_message`.
enum class Prefill { none, by_place, prefix_member, continue_final_message };

// How Chat Completions is told how much a model shall think: `reasoning_effort`; the same beside
// `thinking: {type: enabled}` (DeepSeek); `reasoning: {effort or max_tokens}` (OpenRouter).
enum class ReasoningStyle { effort, effort_and_thinking, object };

// How a provider is held to a schema: by each model; in Groq's way, by some models and neither in
// streams nor beside tools; not at all, then it may know that the answer shall be JSON.
enum class SchemaStyle { all_models, groq, json_object };

// How a provider's reading of a protocol differs from the plain one.
struct RequestStyle {
  std::string_view max_tokens_name = "max_tokens";  // OpenAI: max_completion_tokens.
  bool stream_usage = true;                         // Accepts stream_options.include_usage.
  SchemaStyle schema = SchemaStyle::all_models;
  bool schema_beside_tools = true;    // Cerebras: 400 for both in one request.
  bool schema_of_object = false;      // OpenAI: 400 unless its `type` is "object".
  bool developer_role = false;        // System text as role `developer`.
  bool model_in_body = true;          // Azure and Gemini name the model in the path.
  bool short_tool_call_ids = false;   // Mistral: nine letters or digits.
  bool limits_tool_call_ids = false;  // OpenAI: 400 for an id of more than 40 characters.
  Prefill prefill = Prefill::none;
  ReasoningStyle reasoning = ReasoningStyle::effort;

  // OpenAI itself: its models that reason refuse temperature, top_p and penalties.
  bool reasoners_fix_sampling = false;

  // What the provider does with thoughts that are sent back to it. Which ones are in the messages
  // of a call is the caller's business.
  bool thoughts_of_earlier_turns = false;  // It wants those of earlier turns, too.
  bool takes_chat_thoughts = true;         // Chat Completions: it knows their members.
  bool needs_chat_thoughts = false;        // DeepSeek: 400 for a message without any beside tools.
  bool routes_to_deepseek = false;         // OpenRouter: the same from models of that name.
  bool encrypts_reasoning = false;         // Responses: include reasoning.encrypted_content.
  bool drops_unbound_thoughts = false;     // Messages: it can be told to, instead of answering 400.

  // It keeps prompts under `prompt_cache_key`, in Chat Completions and in Responses.
  bool chat_cache_key = false;
  bool responses_cache_key = false;

  // OpenRouter: it keeps prompts of Anthropic's models where a request asks for it.
  bool asks_to_cache_claude = false;
};

// The state of an answer that is being streamed: the answer so far, and what only the wire needs.
struct StreamedAnswer {
  struct OpenToolCall {  // Which entry of answer.tool_calls an index or an id of the wire means.
    long long index = -1;
    std::string id{};
    std::size_t position = 0;
  };

  struct OpenThought {          // A thought that comes in pieces; its JSON is written at the end.
    long long index = -1;       // On the wire, or what the protocol knows it by.
    std::size_t position = 0;   // In answer.thoughts.
    std::string_view before{};  // What stands around the object: constants.
    std::string_view after{};
    JoinedObject object{};
  };

  results::Answer answer{};
  json::Document document{};  // Where every event is read; kept for its memory.
  std::vector<OpenToolCall> open_calls{};
  std::vector<OpenThought> open_thoughts{};
  std::size_t thought_bytes = 0;  // In open_thoughts.
  bool breaks_thinking = false;   // What can be read next begins a thought.
  bool has_piece = false;  // The event brought a piece that the sizes of the answer do not show.
  bool any = false;        // An event came that is part of an answer.
  bool ended = false;      // The last event came: what follows is not looked at.
  bool broken = false;     // An event could not be read, and neither can the answer.
};

enum class Framing { event_stream, json_lines };

// A request that a client sent.
struct ReceivedRequest {
  Call call{};
  bool include_usage = false;  // Chat Completions: whether a stream shall end with its usage.
};

// Which provider's words errors use.
enum class ErrorStyle { openai, anthropic, gemini };

// How the ids begin that a provider makes.
struct IdPrefixes {
  std::string_view answer;
  std::string_view message;
  std::string_view tool_call;
};

struct Protocol {
  std::string_view name;  // "chat_completions".
  Framing framing = Framing::event_stream;

  // The body of the HTTP request.
  std::string (*render_request)(const Call& call, const RequestStyle& style) = nullptr;

  // The end of the path below the provider's base URL; Gemini's depends on the call instead.
  std::string_view fixed_path{};
  std::string (*path_of_call)(const Call& call) = nullptr;

  // A whole, unstreamed answer. Not complete when the body cannot be read.
  results::Answer (*parse_response)(std::string_view body) = nullptr;

  // One event of a stream, or one line. Text that belongs to the content is appended to
  // state.answer.content.
  void (*parse_event)(StreamedAnswer& state, std::string_view name,
                      std::string_view data) = nullptr;

  // The server's side. Use parse_request below instead of read_request.
  std::string (*read_request)(ReceivedRequest& request, json::Value root) = nullptr;
  std::string (*write_answer)(const OutgoingAnswer& outgoing) = nullptr;
  std::vector<StreamFrame> (*write_stream)(const OutgoingAnswer& outgoing) = nullptr;
  std::string (*write_error)(const OutgoingError& error) = openai_error;
  std::string_view stream_type = "text/event-stream; charset=utf-8";
  std::string_view request_id_header = "x-request-id";
  std::string_view key_header = "authorization";
  ErrorStyle errors = ErrorStyle::openai;
  IdPrefixes ids = {"chatcmpl-", "msg_", "call_"};
  std::string_view recorded_name = name;  // The name that recordings use.
  bool takes_pictures = true;

  // Path and query below the provider's base URL, for providers without one of their own.
  std::string path(const Call& call) const {
    return path_of_call != nullptr ? path_of_call(call) : std::string(fixed_path);
  }
};

const Protocol& chat_completions();
const Protocol& completions();  // The legacy one.
const Protocol& responses();
const Protocol& anthropic_messages();
const Protocol& gemini();
const Protocol& ollama_native();

std::span<const Protocol* const> all_protocols();

// By its name or the one that recordings use (messages, generate_content); null when unknown.
const Protocol* find_protocol(std::string_view name);

// By the end of a request's path; a query is passed over. Null when unknown.
const Protocol* find_protocol_of_path(std::string_view path);

// What the path of a request says beside the protocol (Azure, Gemini).
struct PathSettings {
  std::string model{};
  bool stream = false;
};

// The error is what a provider would say about the request.
std::expected<ReceivedRequest, std::string> parse_request(const Protocol& protocol,
                                                          std::string_view body,
                                                          const PathSettings& path);

}  // namespace treaty::backends
