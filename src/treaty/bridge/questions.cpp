#include "treaty/bridge/questions.h"

#include <fmt/format.h>

#include "treaty/base/hash.h"
#include "treaty/base/timestamp.h"
#include "treaty/base/try.h"
#include "treaty/bridge/names.h"

namespace treaty::bridge {
namespace {

constexpr std::size_t kDigits = 32;  // Of a digest.

constexpr std::string_view kQuestion = "question";
constexpr std::string_view kRequestCreatedAt = "request_created_at";
constexpr std::string_view kAnswerCreatedAt = "answer_created_at";

bool is_later(std::string_view one, std::string_view other) {
  const auto first = seconds_of_timestamp(other);
  const auto second = seconds_of_timestamp(one);
  return first && second && *second > *first;
}

// The answer that is there was given to the question that was answered before.
bool has_old_answer(const Exchange& exchange, const AnsweredQuestion& known) {
  if (!exchange.response.document || !is_new_question(exchange, known)) return false;
  const std::string& created_at = exchange.response.document->created_at;
  if (!known.answer_created_at.empty()) return created_at == known.answer_created_at;
  return !is_later(created_at, known.at);
}

}  // namespace

// Which process asks changes when a server takes its question up again.
Question question_of(const Exchange& exchange) {
  const contracts::BridgeRequest& request = *exchange.request.document;
  json::ObjectText context = request.context;
  context.erase(kAskedBy);
  const std::string text = fmt::format("{}\n{}\n{}\n{}", exchange.suffix, request.agent_name,
                                       context.text(), request.prompt);
  return {.created_at = request.created_at, .digest = sha256_hex(text).substr(0, kDigits)};
}

void add_question(json::ObjectText& details, const Exchange& exchange,
                  const contracts::BridgeResponse& response) {
  if (exchange.is_asked()) {
    const Question question = question_of(exchange);
    details.add(kQuestion, question.digest);
    details.add(kRequestCreatedAt, question.created_at);
  }
  details.add(kAnswerCreatedAt, response.created_at);
}

AnsweredQuestion answered_question(const Exchange& exchange,
                                   const contracts::BridgeResponse& response) {
  return {.question = question_of(exchange),
          .answer_created_at = response.created_at,
          .at = response.created_at};
}

AnsweredQuestion answered_question(const Entry& entry) {
  AnsweredQuestion known{.answer_created_at = text_in(entry, kAnswerCreatedAt), .at = entry.at};
  Question question{.created_at = text_in(entry, kRequestCreatedAt),
                    .digest = text_in(entry, kQuestion)};
  if (!question.digest.empty()) known.question = std::move(question);
  return known;
}

AnsweredQuestions answered_requests(std::span<const Entry> entries) {
  AnsweredQuestions answered;
  for (const Entry& entry : entries) {
    if (is_answer(entry)) answered[text_in(entry, "request_id")] = answered_question(entry);
  }
  return answered;
}

bool is_new_question(const Exchange& exchange, const AnsweredQuestion& known) {
  const Question question = question_of(exchange);
  if (!known.question) return is_later(question.created_at, known.at);
  return question.digest != known.question->digest &&
         is_later(question.created_at, known.question->created_at);
}

bool was_answered(const Exchange& exchange, const AnsweredQuestions& answered) {
  if (!exchange.is_asked()) return false;
  const auto known = answered.find(exchange.request.document->request_id);
  return known != answered.end() && !is_new_question(exchange, known->second);
}

AnswerState judge_answer(const Exchange& exchange, const AnsweredQuestions& answered) {
  if (!exchange.is_asked() || exchange.answer != AnswerState::answered) return exchange.answer;
  const auto known = answered.find(exchange.request.document->request_id);
  const bool is_old = known != answered.end() && has_old_answer(exchange, known->second);
  return is_old ? AnswerState::stale : AnswerState::answered;
}

StaleReason stale_reason(const Exchange& exchange, const AnsweredQuestions& answered) {
  if (judge(exchange.request, exchange.response) == AnswerState::answered) {
    return StaleReason::earlier_question;
  }
  const auto known = answered.find(exchange.request.document->request_id);
  const bool is_same = known != answered.end() && known->second.question &&
                       known->second.question->digest == question_of(exchange).digest &&
                       known->second.answer_created_at == exchange.response.document->created_at;
  return is_same ? StaleReason::asked_again : StaleReason::older;
}

std::string text_of(StaleReason reason, const Exchange& exchange) {
  const std::string& request = exchange.request.path;
  const std::string& asked_at = exchange.request.document->created_at;
  switch (reason) {
    case StaleReason::earlier_question:
      return fmt::format("answers an earlier question, and {} asks a new one", request);
    case StaleReason::asked_again:
      return fmt::format(
          "answers this question as it was asked before, and {} asks the same again, created at {}",
          request, asked_at);
    case StaleReason::older: break;
  }
  return fmt::format("was created at {}, before its request: {} was created at {}",
                     exchange.response.document->created_at, request, asked_at);
}

std::expected<std::vector<Exchange>, Error> read_judged_exchanges(
    const std::string& directory, const AnsweredQuestions& answered) {
  TREATY_TRY(auto exchanges, read_exchanges(directory));
  for (Exchange& exchange : exchanges) exchange.answer = judge_answer(exchange, answered);
  return exchanges;
}

std::expected<std::vector<Exchange>, Error> read_judged_exchanges(const std::string& directory) {
  const auto journal = read_journal(journal_path(directory));
  return read_judged_exchanges(directory,
                               journal ? answered_requests(journal->entries) : AnsweredQuestions());
}

}  // namespace treaty::bridge
