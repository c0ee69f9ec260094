#include "treaty/mock/spoken.h"

#include <fmt/format.h>

#include <algorithm>

#include "treaty/backends/scripted/script_player.h"

namespace treaty::mock {
namespace {

struct IdStyle {
  std::string_view answer;
  std::string_view message;
  std::string_view tool_call;
};

IdStyle style_of(Endpoint endpoint) {
  switch (endpoint) {
    case Endpoint::completions: return {"cmpl-", "msg_", "call_"};
    case Endpoint::responses: return {"resp_", "msg_", "call_"};
    case Endpoint::messages: return {"msg_01", "msg_01", "toolu_01"};
    case Endpoint::generate_content: return {"", "", ""};
    case Endpoint::chat_completions:
    case Endpoint::ollama_chat:
    case Endpoint::models: break;
  }
  return {"chatcmpl-", "msg_", "call_"};
}

SpokenUsage usage_of(const backends::Reply& reply, const Spoken& spoken, std::size_t prompt_bytes) {
  std::size_t said = spoken.refusal.size();
  for (const std::string& piece : spoken.pieces) said += piece.size();
  for (const auto& call : spoken.tool_calls) said += call.name.size() + call.arguments.size();
  const backends::ScriptedUsage given = reply.usage.value_or(backends::ScriptedUsage{});
  return {.input = given.input_tokens.value_or(backends::estimated_tokens(prompt_bytes)),
          .output = given.output_tokens.value_or(backends::estimated_tokens(said)),
          .cache_read = given.cache_read_tokens,
          .cache_write = given.cache_write_tokens};
}

std::string finish_of(const backends::Reply& reply) {
  if (reply.finish_reason) return *reply.finish_reason;
  if (!reply.tool_calls.empty()) return "tool_use";
  return reply.refusal ? "content_filter" : "stop";
}

struct Words {
  int status;
  std::string_view openai_type;
  std::string_view openai_code;
  std::string_view anthropic_type;
  std::string_view gemini_status;
  std::string_view message;
};

constexpr std::string_view kUnknownModel = "The model `{}` does not exist.";

// What each family says with a status.
constexpr Words kWords[] = {
    {400, "invalid_request_error", "", "invalid_request_error", "INVALID_ARGUMENT",
     "The request is not valid."},
    {401, "invalid_request_error", "invalid_api_key", "authentication_error", "UNAUTHENTICATED",
     "Incorrect API key provided."},
    {402, "insufficient_quota", "insufficient_quota", "billing_error", "FAILED_PRECONDITION",
     "Your credit balance is too low."},
    {403, "invalid_request_error", "", "permission_error", "PERMISSION_DENIED",
     "You are not allowed to do this."},
    {404, "invalid_request_error", "model_not_found", "not_found_error", "NOT_FOUND",
     kUnknownModel},
    {408, "invalid_request_error", "", "timeout_error", "DEADLINE_EXCEEDED",
     "The request timed out."},
    {413, "invalid_request_error", "", "request_too_large", "INVALID_ARGUMENT",
     "The request is too large."},
    {429, "requests", "rate_limit_exceeded", "rate_limit_error", "RESOURCE_EXHAUSTED",
     "Rate limit reached for requests."},
    {500, "server_error", "", "api_error", "INTERNAL",
     "The server had an error while processing your request."},
    {503, "server_error", "", "overloaded_error", "UNAVAILABLE",
     "The engine is currently overloaded."},
    {504, "server_error", "", "timeout_error", "DEADLINE_EXCEEDED", "The request timed out."},
    {529, "server_error", "", "overloaded_error", "UNAVAILABLE", "Overloaded"},
};

const Words& words_for(int status) {
  const auto found = std::ranges::find(kWords, status, &Words::status);
  if (found != std::end(kWords)) return *found;
  return *std::ranges::find(kWords, status < 500 ? 400 : 500, &Words::status);
}

}  // namespace

std::string Ids::next(std::string_view prefix, std::size_t length) {
  constexpr std::string_view kLetters =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::string id(prefix);
  while (id.size() < prefix.size() + length) id += kLetters[random_() % kLetters.size()];
  return id;
}

std::string Ids::bytes(std::size_t length) {
  std::string out;
  out.reserve(length);
  while (out.size() < length) out += static_cast<char>(random_());
  return out;
}

std::string Spoken::text() const {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

Spoken speak(const backends::Reply& reply, const Question& question, Endpoint endpoint,
             std::int64_t now, Ids& ids) {
  const IdStyle style = style_of(endpoint);
  Spoken spoken{.id = ids.next(style.answer, 24),
                .message_id = ids.next(style.message, 24),
                .created = now,
                .model = reply.model.value_or(question.asked.model),
                .refusal = reply.refusal.value_or(""),
                .finish_reason = finish_of(reply),
                .with_ids = !reply.faults.missing_ids,
                .include_usage = question.include_usage};
  spoken.pieces = reply.text.size() == 1 ? backends::spoken_pieces(reply.text[0]) : reply.text;
  for (const backends::ScriptedToolCall& call : reply.tool_calls) {
    spoken.tool_calls.push_back({.id = call.id.value_or(ids.next(style.tool_call, 22)),
                                 .item_id = ids.next("fc_", 24),
                                 .name = call.name,
                                 .arguments = call.arguments});
  }
  spoken.usage = usage_of(reply, spoken, question.asked.prompt_bytes);
  return spoken;
}

SpokenError speak_error(const backends::ScriptedError& error, Endpoint endpoint,
                        std::string_view model, std::string request_id) {
  const Words& words = words_for(error.status);
  SpokenError spoken{.status = error.status, .request_id = std::move(request_id)};
  std::string_view type = words.openai_type;
  if (endpoint == Endpoint::messages) type = words.anthropic_type;
  if (endpoint == Endpoint::generate_content) type = words.gemini_status;
  spoken.type = error.type.value_or(std::string(type));
  if (error.code) {
    if (!error.code->empty()) spoken.code = error.code;  // `code: ""` stands for null.
  } else if (!error.type && !words.openai_code.empty()) {
    spoken.code = words.openai_code;
  }
  spoken.message =
      error.message.value_or(words.message == kUnknownModel ? fmt::format(kUnknownModel, model)
                                                            : std::string(words.message));
  return spoken;
}

}  // namespace treaty::mock
