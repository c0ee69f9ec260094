#include "treaty/machines/run/agent_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "treaty/base/try.h"

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

RunTask<Object> ask_as(ExecutionContext& run, const State& state, AgentCall call,
                       std::int64_t number) {
  const auto& known = run.replayed().calls;
  if (const auto found = known.find(number); found != known.end()) {
    run.count_call(found->second);
    co_return found->second;
  }
  if (run.world.timeline.now() >= run.deadline) co_return timed_out(state);
  TREATY_CO_TRY_VOID(co_await run.flush());
  call.key = fmt::format("{}:{}:{}", run.start.execution, run.step, number);
  call.deadline = run.deadline;
  call.origin = run.world.origin;
  call.depth = run.start.depth + 1;
  call.on_note = [&](const CallNote& note) {
    run.observe("dispatch", state.name, note.reason, note.seconds, note.rule);
  };
  run.observe("call", state.name, call.agent.name);
  Dynamic answer;
  const bool is_in_time = co_await run.world.timeline.within(
      run.deadline,
      [&]() -> asio::awaitable<void> { answer = co_await run.world.agents.call(call); });
  Object result = is_in_time ? coerce(answer) : timed_out(state);
  // An execution that stops now still keeps an answer that has come.
  const Attempt<void> going = run.check_stopping();
  if (!going && error_of(result) != nullptr) co_return std::unexpected(going.error());
  if (const Object* failure = error_of(result)) {
    // Nobody was asked: a failure of the run (section 7).
    if (text_of(*failure, "type") == kNoAgent) {
      co_return std::unexpected(RunFailure{.error = *failure});
    }
    // Whoever kept to the deadline by itself was ended by it all the same.
    const bool is_late = run.world.timeline.now() >= run.deadline;
    if (is_late && text_of(*failure, "code") == "timeout") result = timed_out(state);
  }
  run.count_call(result);
  run.pay(result);
  const Object* error = error_of(result);
  run.observe("answer", state.name, error == nullptr ? "ok" : sentence_of(*error), 0,
              error == nullptr ? "" : text_of(*error, "code"));
  TREATY_CO_TRY_VOID(
      co_await run.note("call", call_line(run.step, number, call.agent.name, result)));
  if (!going) co_return std::unexpected(going.error());
  co_return result;
}

RunTask<Object> retry(ExecutionContext& run, const State& state, AgentCall& call) {
  const Execution& how = *state.execution;
  std::vector<Object> all;
  for (std::size_t tries = 0;; ++tries) {
    Attempt<Object> result = co_await ask_agent(run, state, call);
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
    const double chance = run.world.timeline.chance();
    const double spread = floor >= backoff ? std::abs(chance) : chance;
    const double wait = std::max(backoff, floor) * (1 + how.jitter * spread);
    if (run.world.timeline.now() + wait >= run.deadline) {
      co_return with_sums(std::move(*result), all);
    }
    TREATY_CO_TRY_VOID(co_await run.pause(std::max(wait, floor)));
  }
}

RunTask<Object> sample(ExecutionContext& run, const State& state, const AgentCall& call) {
  const int samples = state.execution->samples;
  const std::int64_t first = run.next_call;
  run.next_call += samples;
  TREATY_CO_TRY_VOID(co_await run.flush());
  std::vector<Attempt<Object>> answers(static_cast<std::size_t>(samples), Object());
  std::vector<Job> jobs;
  jobs.reserve(answers.size());
  for (int i = 0; i < samples; ++i) {
    jobs.push_back([&, i]() -> asio::awaitable<void> {
      Attempt<Object>& answer = answers[static_cast<std::size_t>(i)];
      answer = co_await ask_as(run, state, call, first + i);
      if (!answer) co_return;
      // Others may take long: what has come is on the disk before they answer.
      const Attempt<void> kept = co_await run.flush();
      if (!kept) answer = std::unexpected(kept.error());
    });
  }
  co_await run.world.timeline.together(std::move(jobs), run.max_parallel(), {});

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

RunTask<Object> vote(ExecutionContext& run, const State& state, AgentCall& call) {
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
    Attempt<Object> result = co_await ask_agent(run, state, call);
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

}  // namespace

Attempt<AgentCall> agent_call_of(const ExecutionContext& run, const State& state) {
  const auto found = run.machine->agents.find(*state.agent);
  if (found == run.machine->agents.end()) {
    return fail("agent_not_found", "AgentNotFound",
                fmt::format("The machine has no agent '{}'.", *state.agent));
  }
  AgentCall call{.agent = found->second, .directory = run.machine->directory, .input = Object()};
  if (state.input) {
    TREATY_TRY(call.input, render(*state.input, run.scope()));
  }
  if (state.session_id) {
    TREATY_TRY(const Dynamic session, render(*state.session_id, run.scope()));
    if (!session.is_null()) call.session_id = templates::print(session);
  }
  return call;
}

RunTask<Object> execute_agent(ExecutionContext& run, const State& state, AgentCall& call) {
  const ExecutionKind kind = state.execution ? state.execution->kind : ExecutionKind::once;
  switch (kind) {
    case ExecutionKind::once: return ask_agent(run, state, call);
    case ExecutionKind::retry: return retry(run, state, call);
    case ExecutionKind::parallel: return sample(run, state, call);
    case ExecutionKind::voting: return vote(run, state, call);
  }
  return ask_agent(run, state, call);
}

RunTask<Object> ask_agent(ExecutionContext& run, const State& state, AgentCall& call) {
  return ask_as(run, state, call, run.next_call++);
}

}  // namespace treaty::machines
