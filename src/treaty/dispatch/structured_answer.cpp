#include "treaty/dispatch/structured_answer.h"

#include <fmt/format.h>

#include "treaty/base/json.h"
#include "treaty/base/text.h"
#include "treaty/dispatch/dispatched.h"

namespace treaty::dispatch {
namespace {

namespace asio = boost::asio;
using contracts::AgentResult;

// The same call after an answer that did not fit: with the answer and what is wrong with it.
backends::Call with_complaint(backends::Call call, const AgentResult& result,
                              const std::string& complaint) {
  const std::string said = result.content.value_or("");
  // Providers refuse a message without text.
  if (!is_blank(said)) call.messages.push_back(backends::AssistantMessage{.text = said});
  const std::string request = fmt::format(
      "Your answer cannot be used: {}. Answer again with JSON that fits the schema, and nothing "
      "else.",
      complaint);
  call.messages.push_back(backends::UserMessage{.parts = {backends::TextPart{request}}});
  return call;
}

void refuse_output(AgentResult& result, const std::string& complaint) {
  result.output.reset();
  result.finish_reason = "error";
  result.error = contracts::AgentError{
      .message = fmt::format("the answer does not fit the schema of the output: {}", complaint),
      .code = "invalid_output",
      .type = "InvalidOutput",
      .retryable = true};
}

std::string fault_of(const json::Document& document, const AgentResult& result) {
  if (result.finish_reason == "length") return "it is too long and was cut off before its end";
  const auto& faults = document.faults();
  return faults.empty() ? "it is not JSON" : fmt::format("it is not JSON: {}", faults[0].message);
}

}  // namespace

asio::awaitable<AgentResult> ask_for_output(backends::Call call, const schema::Schema& schema,
                                            const AskOnce& ask) {
  const bool is_asked_for = call.output.has_value();
  AgentResult result = co_await ask(call);
  if (!is_asked_for) co_return result;
  const auto complaint = judge_output(result, schema);
  if (!complaint) co_return result;
  Totals totals;
  totals.add(result);
  result = co_await ask(with_complaint(std::move(call), result, *complaint));
  totals.add(result);
  if (const auto again = judge_output(result, schema)) refuse_output(result, *again);
  totals.give_to(result);
  co_return result;
}

std::optional<std::string> judge_output(AgentResult& result, const schema::Schema& schema) {
  const bool has_calls = result.tool_calls && !result.tool_calls->empty();
  if (result.error || has_calls || result.finish_reason == "content_filter") return std::nullopt;
  result.output.reset();
  const std::string_view text =
      json_of_answer(result.content ? *result.content : std::string_view());
  if (text.empty()) return "it is empty";
  const json::Document document(text);
  if (!document.faults().empty() || !document.root()) return fault_of(document, result);
  if (const auto mismatch = schema.mismatch(*document.root())) {
    return mismatch->where.empty() ? mismatch->message
                                   : fmt::format("{}: {}", mismatch->where, mismatch->message);
  }
  if (document.root()->is_object()) result.output = json::ObjectText::of(*document.root());
  return std::nullopt;
}

std::string_view json_of_answer(std::string_view text) {
  std::string_view inside = trimmed(text);
  if (!inside.starts_with("```") || !inside.ends_with("```") || inside.size() < 6) return inside;
  inside.remove_suffix(3);
  const std::size_t line = inside.find('\n');
  return line == std::string_view::npos ? inside.substr(3) : trimmed(inside.substr(line + 1));
}

}  // namespace treaty::dispatch
