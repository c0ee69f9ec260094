// The last step: from what a provider answered, or how it failed, to the AgentResult.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "treaty/base/headers.h"
#include "treaty/contracts/agent_result.h"
#include "treaty/results/answer.h"
#include "treaty/results/limits.h"
#include "treaty/results/prices.h"

namespace treaty::results {

// One exchange with a provider, apart from its body. All of it is borrowed.
struct Exchange {
  std::string_view provider;
  std::optional<int> status{};  // None when there was no answer.
  const Headers& headers;
  std::optional<double> now{};  // Seconds since 1970, where there is no `date` header.
  PlainLimits plain_limits = PlainLimits::unnamed;
  const PriceTable* prices = nullptr;
  std::string_view known_secret{};
  bool wants_output = false;  // A structured output was asked for.
};

// Why a model stopped, in the contract's six words. Of a complete answer without an error; a word
// that nobody knows is `stop`.
std::string_view finish_reason_of(const Answer& answer);

// Of an answer whose status is a success. An error inside it, and an answer that is not complete,
// become failures.
contracts::AgentResult result_of_answer(const Exchange& exchange, Answer answer);

// Of an answer whose status is none: the body tells what went wrong.
contracts::AgentResult result_of_failure(const Exchange& exchange, std::string_view body);

// Of a call that never got its answer: refused, reset, timed out, aborted.
contracts::AgentResult result_of_error(const Exchange& exchange, contracts::AgentError error,
                                       std::string_view finish_reason = "error");

}  // namespace treaty::results
