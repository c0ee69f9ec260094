// Answers that have to be JSON that fits a schema: each is judged, and one that does not fit is
// asked for once more, with the complaint.
//
//   AgentResult result = co_await ask_for_output(call, schema, [&](Call one) {
//     return backend.run(std::move(one));
//   });
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "treaty/backends/call.h"
#include "treaty/base/schema/schema.h"
#include "treaty/contracts/agent_result.h"

namespace treaty::dispatch {

using AskOnce = std::function<boost::asio::awaitable<contracts::AgentResult>(backends::Call call)>;

// Of the last answer, with usage and cost of both. When the second one does not fit either: its
// text and the error `invalid_output`. A call without `output`, for which nothing can be asked, is
// asked once.
boost::asio::awaitable<contracts::AgentResult> ask_for_output(backends::Call call,
                                                              const schema::Schema& schema,
                                                              const AskOnce& ask);

// Sets `output` from the text when that is an object that fits. What is wrong with the text, for
// the model; nothing when it fits, or when there is nothing to complain about: a failure, tool
// calls, a refusal.
std::optional<std::string> judge_output(contracts::AgentResult& result,
                                        const schema::Schema& schema);

// The JSON in the text of an answer: without the fence that models like to put it into.
std::string_view json_of_answer(std::string_view text);

}  // namespace treaty::dispatch
