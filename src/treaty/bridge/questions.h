// Which question a request asks. A program may use a request_id again: what it asks then is a new
// question when it differs from the old one and was created later. Pure.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

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

// The answer that lies there was given to an earlier question. Its date alone may not say so: dates
// are compared to the second.
bool has_old_answer(const Exchange& exchange, const AnsweredQuestion& known);

// Makes such answers `stale`.
void recognize_old_answers(std::span<Exchange> exchanges, const AnsweredQuestions& answered);

}  // namespace treaty::bridge
