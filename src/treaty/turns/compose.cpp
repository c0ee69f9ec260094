#include "treaty/turns/compose.h"

#include <algorithm>
#include <array>

#include "treaty/base/secrets.h"
#include "treaty/base/text.h"
#include "treaty/contracts/text/leaks.h"

namespace treaty::turns {
namespace {

using contracts::AgentError;
using store::TurnState;

constexpr std::size_t kLongestDetails = 600;
constexpr std::size_t kLongestMessage = std::size_t{64} << 10U;  // Of a continuation.

// --- Errors

struct Advice {
  std::string_view code;
  std::string_view message;    // What happened, and what to do next.
  std::string_view lasting{};  // The same when it does not pass, if it mostly does.
};
constexpr std::array kAdvice = std::to_array<Advice>({
    {"rate_limit",
     "the model's provider allows no more calls for now; send the same request again later",
     "the account at the model's provider allows no more calls; whoever runs the server must check "
     "it"},
    {"timeout", "the model did not answer in time; send the same request again",
     "the model did not answer in time; whoever runs the server must check why"},
    {"server_error", "the model's provider failed; send the same request again",
     "the model's provider failed in a way that does not pass; whoever runs the server must check "
     "it"},
    {"auth_error",
     "the model's provider refused the server's credentials; whoever runs the server must check "
     "its keys"},
    {"invalid_request",
     "the model's provider refused the call; change the request, or have the agent's configuration "
     "checked"},
    {"content_filter", "the answer was withheld by a content filter; ask differently"},
    {"context_length",
     "the request is too long for the model; send less text, or begin a new session"},
    {"model_unavailable",
     "the model is not available; try again later, or have the agent's configuration checked",
     "the model is not available; whoever runs the server must check the agent's configuration"},
    {"max_rounds",
     "the model asked for tools too many times in one turn; ask for less at once, or raise "
     "max_rounds of the agent"},
    {"internal", "the server failed; send the same request again, and report it"},
});
constexpr Advice kOtherAdvice{
    "", "the model's provider failed; send the same request again",
    "the agent failed in a way that does not pass; whoever runs the server must check it"};

bool is_code(std::string_view code) {
  return !code.empty() && code.size() <= 64 &&
         std::ranges::all_of(code, [](char c) { return is_lower(c) || is_digit(c) || c == '_'; });
}

// Whatever its code.
constexpr std::string_view kTooLargeMessage =
    "the answer of the model's provider is larger than the server takes; ask for less at once";

// Errors that the house itself makes: their texts are ours and say what to do next.
bool is_ours(const AgentError& error) {
  return error.type == "interrupted" || error.type == "Deadline" || error.code == "machine_waiting";
}

bool is_web_address(std::string_view word) {
  return word.contains("://") || starts_with_folded(word, "www.");
}

// On one line, without addresses, not longer than somebody reads.
std::string tidied(std::string_view text) {
  std::string out;
  while (!text.empty() && out.size() < kLongestDetails) {
    const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
    text.remove_prefix(begin);
    const std::size_t size = std::min(text.find_first_of(" \t\r\n"), text.size());
    if (size == 0) break;
    if (!out.empty()) out.push_back(' ');
    out +=
        is_web_address(text.substr(0, size)) ? std::string_view("(address)") : text.substr(0, size);
    text.remove_prefix(size);
  }
  if (out.size() <= kLongestDetails) return out;
  return std::string(utf8_prefix(out, kLongestDetails)) + "…";
}

// What a provider says of a request may help whoever sent it. Without an answer of a provider the
// text is about connections of the server, which are nobody's business.
std::optional<std::string> details_of(const AgentError& error) {
  if (!error.status_code || is_ours(error)) return std::nullopt;
  const std::string_view code = error.code ? std::string_view(*error.code) : std::string_view();
  if (code != "invalid_request" && code != "context_length" && code != "content_filter") {
    return std::nullopt;  // The others speak of accounts and models of the server.
  }
  // A trace is one only while it has its lines, so both forms are looked at.
  const std::string masked = mask_secrets(repaired_utf8(error.message));
  std::string text = tidied(masked);
  const bool shows = !is_blank(text) && !has_control_character(text) &&
                     contracts::find_leak(masked).empty() && contracts::find_leak(text).empty();
  return shows ? std::optional(std::move(text)) : std::nullopt;
}

std::string message_of(const AgentError& error, std::string_view code) {
  if (is_ours(error) && !is_blank(error.message) && contracts::find_leak(error.message).empty()) {
    return error.message;
  }
  if (error.type == kAnswerTooLarge) return std::string(kTooLargeMessage);
  const auto* found = std::ranges::find(kAdvice, code, &Advice::code);
  const Advice& advice = found == kAdvice.end() ? kOtherAdvice : *found;
  const bool lasts = !error.retryable.value_or(false) && !advice.lasting.empty();
  return std::string(lasts ? advice.lasting : advice.message);
}

}  // namespace

contracts::FinalResponse final_response(const Finish& finish, Sealed sealed,
                                        const Progress& progress,
                                        std::vector<std::string> user_warnings) {
  if (finish.was_cut) {
    user_warnings.emplace_back(
        "The answer reached its length limit and is not complete. Ask to go on.");
  }
  user_warnings.insert(user_warnings.end(), sealed.user_warnings.begin(),
                       sealed.user_warnings.end());
  std::erase_if(user_warnings, [](const std::string& warning) { return is_blank(warning); });
  contracts::FinalResponse response{.primary_output_text = std::move(sealed.text)};
  if (!user_warnings.empty()) response.user_warnings = std::move(user_warnings);
  response.usage = progress.usage;
  return response;
}

contracts::ClientToolContinuation continuation_response(const AskClient& ask) {
  contracts::ClientToolContinuation continuation{.tool_calls = ask.calls};
  if (!is_blank(ask.text)) {
    continuation.tool_continuation_message =
        seal(std::string(utf8_prefix(ask.text, kLongestMessage))).text;
  }
  return continuation;
}

AnswerError error_of(const AgentError& error) {
  const bool named = error.code && is_code(*error.code);
  std::string code = named ? *error.code : "server_error";
  std::string message = message_of(error, code);
  return {.code = std::move(code),
          .message = std::move(message),
          .is_fatal = !error.retryable.value_or(false),
          .is_system = true,
          .context = std::nullopt,
          .details = details_of(error)};
}

Conclusion conclude_finish(const Finish& finish, const Progress& progress,
                           std::vector<std::string> warnings) {
  Sealed sealed = seal(finish.text);
  std::vector<StepNote> notes = std::exchange(sealed.notes, {});
  return {.state = TurnState::completed,
          .answer = final_response(finish, std::move(sealed), progress, std::move(warnings)),
          .notes = std::move(notes)};
}

Conclusion conclude_asking(const AskClient& ask) {
  return {.state = TurnState::awaiting_tools,
          .answer = continuation_response(ask),
          .pending = ask.calls};
}

Conclusion conclude_failure(const contracts::AgentError& error,
                            const std::optional<contracts::RateLimitState>& limited,
                            std::vector<dispatch::LimitLine> limits) {
  Conclusion conclusion{.state = TurnState::failed,
                        .answer = error_of(error),
                        .failure = error,
                        .retryable = error.retryable.value_or(false),
                        .limits = std::move(limits)};
  if (limited && limited->retry_after) conclusion.retry_after = limited->retry_after->value();
  // Two failures are not the backend's: dispatch itself refused the call.
  for (const Reason reason : {Reason::budget_exhausted, Reason::store_unavailable}) {
    if (error.code == code_of(reason)) {
      conclusion.answer = error_of(Refusal{reason, error.message});
    }
  }
  return conclusion;
}

Conclusion conclude_refusal(const Refusal& refusal, TurnState state, bool retryable) {
  return {.state = state, .answer = error_of(refusal), .retryable = retryable};
}

contracts::AgentError interrupted() {
  return {.message =
              "the turn was interrupted: the server stopped while its answer was being "
              "streamed; send the same request again",
          .code = "server_error",
          .type = "interrupted",
          .retryable = true};
}

}  // namespace treaty::turns
