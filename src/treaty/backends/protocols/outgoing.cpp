#include "treaty/backends/protocols/outgoing.h"

#include <fmt/format.h>

#include <algorithm>

#include "treaty/backends/protocols/protocol.h"
#include "treaty/base/json.h"
#include "treaty/base/json_write.h"

namespace treaty::backends {
namespace {

constexpr std::size_t kArgumentPiece = 12;

struct ErrorText {
  int status;
  std::string_view openai_type;
  std::string_view openai_code;
  std::string_view anthropic_type;
  std::string_view gemini_status;
  std::string_view message;
};

constexpr std::string_view kUnknownModel = "The model `{}` does not exist.";

// What each family says with a status.
constexpr ErrorText kErrorTexts[] = {
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

const ErrorText& text_for(int status) {
  const auto found = std::ranges::find(kErrorTexts, status, &ErrorText::status);
  if (found != std::end(kErrorTexts)) return *found;
  return *std::ranges::find(kErrorTexts, status < 500 ? 400 : 500, &ErrorText::status);
}

}  // namespace

std::string OutgoingAnswer::text() const {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

std::string OutgoingAnswer::thinking_text() const {
  std::string text;
  for (const std::string& piece : thinking) text += piece;
  return text;
}

OutgoingError usual_error(const Protocol& protocol, int status, std::string_view model) {
  const ErrorText& text = text_for(status);
  OutgoingError error{.status = status, .type = std::string(text.openai_type)};
  if (protocol.errors == ErrorStyle::anthropic) error.type = text.anthropic_type;
  if (protocol.errors == ErrorStyle::gemini) error.type = text.gemini_status;
  if (!text.openai_code.empty()) error.code = text.openai_code;
  error.message =
      text.message == kUnknownModel ? fmt::format(kUnknownModel, model) : std::string(text.message);
  return error;
}

std::string openai_error(const OutgoingError& error) {
  json::Writer writer;
  writer.begin_object().name("error").begin_object();
  writer.member("message", error.message).member("type", error.type).name("param").null();
  return writer.member_or_null("code", error.code).end_object().end_object().take();
}

std::vector<std::string> argument_pieces(std::string_view arguments) {
  std::vector<std::string> pieces;
  while (!arguments.empty()) {
    std::size_t size = std::min(kArgumentPiece, arguments.size());
    while (size < arguments.size() && is_inside_character(arguments[size])) ++size;
    pieces.emplace_back(arguments.substr(0, size));
    arguments.remove_prefix(size);
  }
  return pieces;
}

std::string object_or_empty(std::string_view arguments) {
  return json::type_of_json(arguments) == json::Type::object ? std::string(arguments) : "{}";
}

}  // namespace treaty::backends
