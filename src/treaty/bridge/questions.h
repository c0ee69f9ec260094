// Which question a request asks. A program may use a request_id again: what it asks then is a new
// question when it differs from the old one and was created later. The same words once more are the
// same question, whenever they were written. Everything but the last two
// functions is pure.
#pragma once

#include <expected>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "treaty/bridge/exchange.h"
#include "treaty/bridge/journal.h"

namespace treaty::bridge {

struct Question {
  std::string created_at{};  // Of the request, RFC 3339.
  std::string digest{};      // Of who is asked what, and under which file name.
  bool operator==(const Question&) const = default;
};

// Of a request that is whole.
Question question_of(const Exchange& exchange);

// The last question that was answered under a request_id.
struct AnsweredQuestion {
  std::optional<Question> question{};  // Absent: the journal does not say.
  std::string answer_created_at{};     // Likewise empty.
  std::string at{};                    // When it was journalled, RFC 3339.
  bool operator==(const AnsweredQuestion&) const = default;
};
using AnsweredQuestions = std::map<std::string, AnsweredQuestion>;  // By request_id.

// The question and the answer to it, as members of a journal entry, and back.
void add_question(json::ObjectText& details, const Exchange& exchange,
                  const contracts::BridgeResponse& response);
AnsweredQuestion answered_question(const Exchange& exchange,
                                   const contracts::BridgeResponse& response);
AnsweredQuestion answered_question(const Entry& entry);

// Every request_id that was answered here, as far as the journal goes back.
AnsweredQuestions answered_requests(std::span<const Entry> entries);

// The request asks something else than what was answered, and was created later.
bool is_new_question(const Exchange& exchange, const AnsweredQuestion& known);

// The request was answered, and asks no new question.
bool was_answered(const Exchange& exchange, const AnsweredQuestions& answered);

// Whether the request is answered, by all that is known: every command decides it here. An answer
// that was given to an earlier question under the same request_id is `stale`; its date alone may
// not say so, since dates are compared to the second.
AnswerState judge_answer(const Exchange& exchange, const AnsweredQuestions& answered);

// What makes an answer `stale`.
enum class StaleReason {
  earlier_question,  // The request asks something else under the same request_id.
  asked_again,       // The request asks the same as before in a later writing: only --replace asks
                     // the agent again.
  older,             // The answer was created before the request, and that is all that is known.
};

// Why a whole answer is `stale`. Every command uses this to decide what to do about it.
StaleReason stale_reason(const Exchange& exchange, const AnsweredQuestions& answered);

// "answers an earlier question, …": what to say of the file in the place of the answer.
std::string text_of(StaleReason reason, const Exchange& exchange);

// The exchanges of a directory, each judged by judge_answer().
std::expected<std::vector<Exchange>, Error> read_judged_exchanges(
    const std::string& directory, const AnsweredQuestions& answered);

// The same by the directory's own journal; by the files alone when the journal cannot be read.
std::expected<std::vector<Exchange>, Error> read_judged_exchanges(const std::string& directory);

}  // namespace treaty::bridge
