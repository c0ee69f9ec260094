#include "treaty/turns/settled_turn.h"

#include "treaty/base/json.h"
#include "treaty/base/json_write.h"
#include "treaty/base/text.h"
#include "treaty/contracts/decode_agent_result.h"
#include "treaty/turns/step.h"

namespace treaty::turns {
namespace {

using contracts::AgentExecuteResponse;
using contracts::ClientToolContinuation;
using contracts::FinalResponse;

// Stands for what the journal has elsewhere: ids, mode, and a text that is the result's content.
constexpr std::string_view kElsewhere = "-";

void write(json::Writer& writer, const AnswerError& error) {
  writer.begin_object().member("code", error.code).member("message", error.message);
  writer.member("fatal", error.is_fatal).member("system", error.is_system);
  if (error.context) writer.member("context", *error.context);
  if (error.details) writer.member("details", *error.details);
  writer.end_object();
}

AnswerError read_error(json::Value value) {
  const auto text = [&](std::string_view name) -> std::optional<std::string> {
    const auto member = json::find_member(value, name);
    if (!member || !member->is_string()) return std::nullopt;
    return std::string(member->text());
  };
  return {.code = text("code").value_or(""),
          .message = text("message").value_or(""),
          .is_fatal = json::is_true(json::find_member(value, "fatal")),
          .is_system = json::is_true(json::find_member(value, "system")),
          .context = text("context"),
          .details = text("details")};
}

// The answer to which nothing was added and from which nothing was taken.
FinalResponse plain_answer(const contracts::AgentResult& result) {
  FinalResponse answer{.primary_output_text = result.content.value_or("")};
  if (result.usage) answer.usage = add_usage(contracts::Usage{}, *result.usage);
  return answer;
}

// What the model said last.
const std::string* last_text(const Transcript& transcript) {
  if (transcript.messages.empty()) return nullptr;
  const auto* said = std::get_if<backends::AssistantMessage>(&transcript.messages.back());
  return said == nullptr ? nullptr : &said->text;
}

AgentExecuteResponse without_place(const SettledTurn& turn, bool text_is_content) {
  AgentExecuteResponse response{.session_id = std::string(kElsewhere),
                                .turn_id = std::string(kElsewhere),
                                .mode_display_name = std::string(kElsewhere),
                                .kind = {}};
  if (const auto* final = std::get_if<FinalResponse>(&turn.answer)) {
    response.kind =
        FinalResponse{.primary_output_text =
                          text_is_content ? std::string(kElsewhere) : final->primary_output_text,
                      .files = final->files,
                      .tool_results = final->tool_results,
                      .user_warnings = final->user_warnings,
                      .usage = final->usage};
  } else {
    response.kind = std::get<ClientToolContinuation>(turn.answer);
  }
  return response;
}

// False: it is not what encode() wrote.
bool read_answer(json::Value root, SettledTurn& turn) {
  if (const auto error = json::find_member(root, "error")) {
    turn.answer = read_error(*error);
    return true;
  }
  const auto source = json::find_member(root, "response");
  if (!source) {
    turn.answer = plain_answer(turn.result);
    return true;
  }
  auto response = contracts::decode_agent_execute_response(
      source->source(), {.max_size = source->source().size() + 1});
  if (!response) return false;
  if (auto* final = std::get_if<FinalResponse>(&response->kind)) {
    if (json::find_member(root, "text_is_content")) {
      if (!turn.result.content) return false;
      final->primary_output_text = *turn.result.content;
    }
    turn.answer = std::move(*final);
  } else {
    turn.answer = std::get<ClientToolContinuation>(std::move(response->kind));
  }
  return true;
}

}  // namespace

contracts::AgentResult result_of(const AnswerError& error) {
  return {.finish_reason = error.code == code_of(Reason::turn_cancelled) ? "aborted" : "error",
          .error = contracts::AgentError{
              .message = error.message, .code = error.code, .retryable = !error.is_fatal}};
}

std::string encode(const SettledTurn& turn, const Transcript& transcript) {
  using contracts::Content;
  const std::string* said = last_text(transcript);
  const bool is_said = said != nullptr && turn.result.content == *said;
  json::Writer writer;
  writer.begin_object().member("backend", turn.backend).member("model", turn.model);
  if (is_said) writer.member("is_said", true);
  contracts::write(writer.name("agent_result"), turn.result,
                   is_said ? Content::left_out : Content::written);
  const auto* final = std::get_if<FinalResponse>(&turn.answer);
  if (const auto* error = std::get_if<AnswerError>(&turn.answer)) {
    writer.name("error");
    write(writer, *error);
  } else if (final == nullptr || *final != plain_answer(turn.result)) {
    const bool text_is_content =
        final != nullptr && turn.result.content == final->primary_output_text;
    if (text_is_content) writer.member("text_is_content", true);
    writer.name("response");
    contracts::write(writer, without_place(turn, text_is_content), contracts::Dialect::pascal);
  }
  if (!turn.warnings.empty()) {
    writer.name("warnings").array(turn.warnings, [&](const auto& one) { write(writer, one); });
  }
  std::string json = writer.end_object().take();
  return is_utf8(json) ? json : repaired_utf8(json);  // A backend may say anything.
}

std::expected<SettledTurn, Error> decode_settled_turn(std::string_view json,
                                                      std::string_view transcript) {
  const Error damaged{ErrorCode::corrupt, "the result of a round in the journal cannot be read"};
  const json::Document document(json, {.max_size = json.size() + 1, .max_faults = 1});
  const auto root = document.root();
  if (!root || !document.faults().empty()) return std::unexpected(damaged);
  const auto source = json::find_member(root, "agent_result");
  if (!source) return std::unexpected(damaged);
  auto result = contracts::decode_agent_result(source->source(), {.max_size = json.size() + 1});
  if (!result) return std::unexpected(damaged);
  if (json::find_member(root, "is_said")) {
    const auto spoken = decode_transcript(transcript);
    const std::string* said = spoken ? last_text(*spoken) : nullptr;
    if (said == nullptr) return std::unexpected(damaged);
    result->content = *said;
  }
  SettledTurn turn{.result = std::move(*result),
                   .backend = std::string(json::find_text(root, "backend")),
                   .model = std::string(json::find_text(root, "model"))};
  if (!read_answer(*root, turn)) return std::unexpected(damaged);
  if (const auto warnings = json::find_member(root, "warnings"); warnings && warnings->is_array()) {
    for (const json::Value warning : warnings->elements()) {
      turn.warnings.push_back(read_error(warning));
    }
  }
  return turn;
}

}  // namespace treaty::turns
