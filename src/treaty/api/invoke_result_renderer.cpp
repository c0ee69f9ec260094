#include "treaty/api/invoke_result_renderer.h"

#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/text.h"

namespace treaty::api {
namespace {

using contracts::Dialect;
using contracts::InvokeError;
using contracts::InvokeResult;
using turns::AnswerError;

InvokeError invoke_error(const AnswerError& error) {
  return {.error_code = error.code,
          .message = error.message,
          .fatal_error = error.is_fatal,
          .system_error = error.is_system,
          .context = error.context,
          .details = error.details};
}

InvokeResult invoke_result(const turns::SettledTurn& turn) {
  InvokeResult result{.outcome = {}, .warnings = {}, .result_id = turn.answer_id};
  for (const AnswerError& warning : turn.warnings) {
    result.warnings.push_back(invoke_error(warning));
  }
  if (const auto* error = std::get_if<AnswerError>(&turn.answer)) {
    result.outcome = contracts::Failure{{invoke_error(*error)}};
    return result;
  }
  contracts::AgentExecuteResponse response{.session_id = turn.session_id,
                                           .turn_id = turn.turn_id,
                                           .mode_display_name = turn.mode,
                                           .kind = {}};
  if (const auto* final = std::get_if<contracts::FinalResponse>(&turn.answer)) {
    response.kind = *final;
  } else {
    response.kind = std::get<contracts::ClientToolContinuation>(turn.answer);
  }
  result.outcome = std::move(response);
  return result;
}

InvokeResult broken_answer(const InvokeResult& result) {
  return {.outcome = contracts::Failure{{InvokeError{
              .error_code = "internal",
              .message = "the server composed an answer that breaks its contract and withheld it; "
                         "report it, and send the request as a new turn",
              .fatal_error = false,
              .system_error = true}}},
          .warnings = {},
          .result_id =
              result.result_id && is_utf8(*result.result_id) ? result.result_id : std::nullopt};
}

std::vector<std::string> rules_broken_by(const std::string& body, const InvokeResult& result) {
  std::vector<std::string> broken;
  const auto decoded = contracts::decode_invoke_result(body);
  for (const contracts::Finding& finding : decoded.error()) {
    broken.push_back(fmt::format("{} {}: {}", finding.rule.text(), finding.where, finding.message));
  }
  // INV-04 is looser for what others write: ours always names a code.
  const auto has_no_code = [](const InvokeError& error) { return is_blank(error.error_code); };
  const auto* failure = std::get_if<contracts::Failure>(&result.outcome);
  if (std::ranges::any_of(result.warnings, has_no_code) ||
      (failure != nullptr && std::ranges::any_of(failure->errors, has_no_code))) {
    broken.emplace_back("INV-04 /Errors: an error or a warning has no ErrorCode");
  }
  return broken;
}

std::string first_code(const InvokeResult& result) {
  const auto* failure = std::get_if<contracts::Failure>(&result.outcome);
  return failure == nullptr || failure->errors.empty() ? std::string()
                                                       : failure->errors.front().error_code;
}

class InvokeResultRenderer final : public turns::Renderer {
 public:
  std::string_view format() const override { return "invoke-result"; }
  std::string_view content_type() const override { return "application/json; charset=utf-8"; }

  turns::Rendered render(const turns::SettledTurn& turn, Dialect dialect) const override {
    return write_checked(invoke_result(turn), dialect);
  }

  std::string render(const turns::Refusal& refusal, Dialect dialect,
                     std::string answer_id) const override {
    InvokeResult result{.outcome = contracts::Failure{{invoke_error(turns::error_of(refusal))}}};
    if (!answer_id.empty()) result.result_id = std::move(answer_id);
    return contracts::encode(result, dialect);
  }

  std::string respell(const std::string& body, Dialect dialect) const override {
    const auto result = contracts::decode_invoke_result(body);
    return result ? contracts::encode(*result, dialect) : body;
  }

  int status_of(std::string_view error_code) const override {
    return error_code.empty() ? 200 : turns::status_of_code(error_code);
  }
};

}  // namespace

const turns::Renderer& invoke_result_renderer() {
  static const InvokeResultRenderer renderer;
  return renderer;
}

turns::Rendered write_checked(const InvokeResult& result, Dialect dialect) {
  turns::Rendered rendered{.body = contracts::encode(result, dialect)};
  rendered.broken = rules_broken_by(rendered.body, result);
  if (rendered.broken.empty()) {
    rendered.error_code = first_code(result);
    return rendered;
  }
  const InvokeResult internal = broken_answer(result);
  rendered.body = contracts::encode(internal, dialect);
  rendered.error_code = first_code(internal);
  return rendered;
}

}  // namespace treaty::api
