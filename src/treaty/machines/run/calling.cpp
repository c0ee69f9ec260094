// Agents of a state: once, again, several at once, by vote (machines.md section 5).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "treaty/machines/run/execution_run.h"

namespace treaty::machines {

namespace asio = boost::asio;

namespace {

constexpr std::size_t kBytesOfToken = 4;
constexpr std::string_view kNoAgent = "AgentNotFound";

Object timed_out(const State& state) { return failed_result(state_timeout(state.name)); }

Object empty_response() {
  return failed_result(
      make_error("empty_response", "EmptyResponse", "The agent answered nothing.", true));
}

}  // namespace

ExecutionRun::Task<ExecutionRun::Worked> ExecutionRun::call_agent(const State& state) {
  const auto found = machine_->agents.find(*state.agent);
  if (found == machine_->agents.end()) {
    co_return fail("agent_not_found", "AgentNotFound",
                   fmt::format("The machine has no agent '{}'.", *state.agent));
  }
  auto input = state.input ? render(*state.input, scope()) : Attempt<Value>(Object());
  if (!input) co_return std::unexpected(std::move(input.error()));
  AgentCall call{.agent = found->second, .directory = machine_->directory};
  call.input = std::move(*input);
  if (state.session_id) {
    auto session = render(*state.session_id, scope());
    if (!session) co_return std::unexpected(std::move(session.error()));
    if (!session->is_null()) call.session_id = templates::print(*session);
  }
  if (state.tool_loop) co_return co_await run_tool_loop(state, call);
  Attempt<Object> result = co_await execute(state, call);
  if (!result) co_return std::unexpected(std::move(result.error()));
  Work work{.output = payload_of(*result)};
  work.result = std::move(*result);
  co_return Worked(std::move(work));
}

ExecutionRun::Task<Object> ExecutionRun::execute(const State& state, AgentCall& call) {
  const ExecutionKind kind = state.execution ? state.execution->kind : ExecutionKind::once;
  switch (kind) {
    case ExecutionKind::once: return ask(state, call);
    case ExecutionKind::retry: return retry(state, call);
    case ExecutionKind::parallel: return sample(state, call);
    case ExecutionKind::voting: return vote(state, call);
  }
  return ask(state, call);
}

ExecutionRun::Task<Object> ExecutionRun::retry(const State& state, AgentCall& call) {
  const Execution& how = *state.execution;
  std::vector<Object> all;
  for (std::size_t tries = 0;; ++tries) {
    Attempt<Object> result = co_await ask(state, call);
    if (!result) co_return result;
    all.push_back(*result);
    if (how.retry_on_empty && error_of(*result) == nullptr && is_empty(*result)) {
      *result = empty_response();
    }
    const Object* error = error_of(*result);
    const bool is_last = tries >= how.backoffs.size();
    if (error == nullptr || !is_retryable(*error) || is_last) {
      co_return with_sums(std::move(*result), all);
    }
    // Who refused says how long at least; chance only adds to that.
    const double backoff = how.backoffs[tries];
    const double floor = retry_after_of(*result);
    const double chance = world_.timeline.chance();
    const double spread = floor >= backoff ? std::abs(chance) : chance;
    const double wait = std::max(backoff, floor) * (1 + how.jitter * spread);
    if (world_.timeline.now() + wait >= deadline_) {
      co_return with_sums(std::move(*result), all);
    }
    if (auto paused = co_await pause(std::max(wait, floor)); !paused) {
      co_return std::unexpected(std::move(paused.error()));
    }
  }
}

ExecutionRun::Task<Object> ExecutionRun::sample(const State& state, const AgentCall& call) {
  const int samples = state.execution->samples;
  const std::int64_t first = next_call_;
  next_call_ += samples;
  if (auto written = co_await flush(); !written) {
    co_return std::unexpected(std::move(written.error()));
  }
  std::vector<Attempt<Object>> answers(static_cast<std::size_t>(samples), Object());
  std::vector<Job> jobs;
  jobs.reserve(answers.size());
  for (int i = 0; i < samples; ++i) {
    jobs.push_back([&, i]() -> asio::awaitable<void> {
      answers[static_cast<std::size_t>(i)] = co_await ask_as(state, call, first + i);
    });
  }
  co_await world_.timeline.together(std::move(jobs), most_at_once(), {});

  std::vector<Object> all;
  List results;
  List errors;
  for (Attempt<Object>& answer : answers) {
    if (!answer) co_return std::unexpected(std::move(answer.error()));
    if (const Object* error = error_of(*answer)) {
      errors.emplace_back(*error);
    } else {
      results.emplace_back(payload_of(*answer));
    }
    all.push_back(std::move(*answer));
  }
  if (results.empty()) co_return with_sums(all.front(), all);
  const auto count = static_cast<std::int64_t>(results.size());
  Object output = {{"results", std::move(results)}, {"count", count}};
  if (!errors.empty()) output["errors"] = std::move(errors);
  co_return with_sums({{"output", std::move(output)}, {"finish_reason", "stop"}}, all);
}

ExecutionRun::Task<Object> ExecutionRun::vote(const State& state, AgentCall& call) {
  struct Candidate {
    Object result;
    Object payload;
    int votes = 1;
  };
  const Execution& how = *state.execution;
  std::vector<Candidate> candidates;  // As they were first seen.
  std::vector<Object> all;
  std::optional<Object> last_error;
  for (int i = 0; i < how.most_candidates; ++i) {
    Attempt<Object> result = co_await ask(state, call);
    if (!result) co_return result;
    all.push_back(*result);
    if (const Object* error = error_of(*result)) {
      if (!is_retryable(*error)) co_return with_sums(*result, all);
      if (text_of(*error, "type") == "StateTimeout") co_return with_sums(*result, all);
      last_error = *result;
      continue;
    }
    const bool is_long =
        how.most_response_tokens &&
        length_of(*result) / kBytesOfToken > static_cast<std::size_t>(*how.most_response_tokens);
    if (is_empty(*result) || is_long) continue;
    Object payload = payload_of(*result);
    const auto same = std::ranges::find_if(candidates, [&](const Candidate& candidate) {
      return templates::are_equal(candidate.payload, payload);
    });
    if (same == candidates.end()) {
      candidates.push_back({.result = *result, .payload = std::move(payload)});
    } else {
      ++same->votes;
    }
    std::vector<int> votes;
    votes.reserve(candidates.size());
    for (const Candidate& candidate : candidates) votes.push_back(candidate.votes);
    std::ranges::sort(votes, std::greater());
    if (votes.front() - (votes.size() > 1 ? votes[1] : 0) >= how.margin) break;
  }
  if (candidates.empty()) {
    Object none = last_error.value_or(failed_result(
        make_error("no_candidate", "NoCandidate", "No answer could be counted as a vote.", true)));
    co_return with_sums(std::move(none), all);
  }
  const auto best = std::ranges::max_element(candidates, {}, &Candidate::votes);
  co_return with_sums(best->result, all);
}

ExecutionRun::Task<Object> ExecutionRun::ask(const State& state, AgentCall& call) {
  return ask_as(state, call, next_call_++);
}

// What was answered before is not asked for again.
ExecutionRun::Task<Object> ExecutionRun::ask_as(const State& state, AgentCall call,
                                                std::int64_t number) {
  const auto& known = replayed().calls;
  if (const auto found = known.find(number); found != known.end()) {
    count(found->second);
    co_return found->second;
  }
  if (world_.timeline.now() >= deadline_) co_return timed_out(state);
  if (auto written = co_await flush(); !written) {
    co_return std::unexpected(std::move(written.error()));
  }
  call.key = fmt::format("{}:{}:{}", start_.execution, step_, number);
  call.deadline = deadline_;
  call.depth = start_.depth + 1;
  look("call", state.name, call.agent.name);
  Value answer;
  const bool is_in_time = co_await world_.timeline.within(
      deadline_, [&]() -> asio::awaitable<void> { answer = co_await world_.agents.call(call); });
  if (auto going = check_stopping(); !going) co_return std::unexpected(std::move(going.error()));
  Object result = is_in_time ? coerce(answer) : timed_out(state);
  if (const Object* failure = error_of(result)) {
    // Nobody was asked: a failure of the run (section 7).
    if (text_of(*failure, "type") == kNoAgent) {
      co_return std::unexpected(Failure{.error = *failure});
    }
    // Whoever kept to the deadline by itself was ended by it all the same.
    const bool is_late = world_.timeline.now() >= deadline_;
    if (is_late && text_of(*failure, "code") == "timeout") result = timed_out(state);
  }
  count(result);
  const Object* error = error_of(result);
  look("answer", state.name, error == nullptr ? "ok" : sentence_of(*error), 0,
       error == nullptr ? "" : text_of(*error, "code"));
  if (auto noted = co_await note("call", call_line(step_, number, call.agent.name, result));
      !noted) {
    co_return std::unexpected(std::move(noted.error()));
  }
  co_return result;
}

}  // namespace treaty::machines
