// The decision table, row by row, and what holds for every decision.
#include "treaty/dispatch/policy.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>

namespace treaty::dispatch {
namespace {

using contracts::AgentError;
using contracts::AgentResult;
using contracts::RateLimitState;
using contracts::RateLimitWindow;

const Policy kDefaults{};

Delay window_of(Span span, Seconds wait) {
  return {.obstacle = Obstacle::window, .wait = wait, .span = span, .window = "requests"};
}

// Alone or with another backend, so many seconds before the deadline.
Situation alone(Seconds left = 300) { return {.policy = kDefaults, .attempts = 1, .left = left}; }
Situation with_next(Seconds left = 300) {
  return {.policy = kDefaults, .attempts = 1, .left = left, .has_next = true};
}

AgentResult failure(std::string code, bool retryable) {
  return {.finish_reason = "error",
          .error = AgentError{.message = "no", .code = std::move(code), .retryable = retryable}};
}

// Of the gateway itself.
AgentResult own_timeout(std::string type = "FirstTokenTimeout") {
  AgentResult result = failure("timeout", true);
  result.error->type = std::move(type);
  return result;
}

AgentResult refused(std::optional<double> retry_after, std::vector<RateLimitWindow> windows = {}) {
  AgentResult result = failure("rate_limit", true);
  result.rate_limit = RateLimitState{.limited = true, .windows = std::move(windows)};
  if (retry_after) result.rate_limit->retry_after = *retry_after;
  return result;
}

RateLimitWindow used_up(std::string name, std::optional<double> resets_in) {
  RateLimitWindow window{
      .name = std::move(name), .resource = "requests", .remaining = 0, .limit = 60};
  if (resets_in) window.resets_in = *resets_in;
  return window;
}

// --- Before a call

TEST_CASE("A minute's window is waited for within max_wait and the deadline, alone or not") {
  CHECK(decide_before(window_of(Span::minute, 60), alone()).act == Act::wait);
  CHECK(decide_before(window_of(Span::minute, 10), with_next()).act == Act::wait);
  CHECK(decide_before(window_of(Span::minute, 60), alone()).wait == 60);

  CHECK(decide_before(window_of(Span::minute, 60.5), alone()).act == Act::fail);
  CHECK(decide_before(window_of(Span::minute, 10.5), with_next()).act == Act::move_on);
  CHECK(decide_before(window_of(Span::minute, 9), alone(9)).act == Act::wait);
  CHECK(decide_before(window_of(Span::minute, 9), alone(8)).act == Act::fail);
  CHECK(decide_before(window_of(Span::minute, 9), with_next(8)).act == Act::move_on);
}

TEST_CASE("A decision names its rule") {
  CHECK(decide_before(window_of(Span::minute, 5), alone()).rule == DispatchRule::pacing);
  CHECK(decide_before(window_of(Span::minute, 11), with_next()).rule == DispatchRule::max_wait);
  CHECK(decide_before(window_of(Span::minute, 9), with_next(8)).rule == DispatchRule::deadline);
  CHECK(decide_before(window_of(Span::hour, 1), with_next()).rule == DispatchRule::long_window);
  CHECK(decide_before({.obstacle = Obstacle::breaker, .wait = 1}, with_next()).rule ==
        DispatchRule::breaker);
  CHECK(decide_after(failure("server_error", true), alone()).rule == DispatchRule::retry);
  CHECK(decide_after(failure("auth_error", false), alone()).rule == DispatchRule::not_retryable);
  CHECK(decide_after(own_timeout(), with_next()).rule == DispatchRule::timeout);
  CHECK(decide_after(own_timeout("Deadline"), with_next(0)).rule == DispatchRule::deadline);
  CHECK(name_of(DispatchRule::max_attempts) == "max_attempts");
  CHECK(name_of(DispatchRule::budget) == "budget");
}

TEST_CASE("An hour's window leads to the next backend, and is waited for only without one") {
  CHECK(decide_before(window_of(Span::hour, 1), with_next()).act == Act::move_on);
  CHECK(decide_before(window_of(Span::hour, 200), alone()).act == Act::wait);
  CHECK(decide_before(window_of(Span::hour, 301), alone()).act == Act::fail);
}

TEST_CASE("A day's window leads to the next backend, else it is the end, but for its last minute") {
  CHECK(decide_before(window_of(Span::day, 1), with_next()).act == Act::move_on);
  CHECK(decide_before(window_of(Span::day, 61), alone()).act == Act::fail);
  CHECK(decide_before(window_of(Span::day, 59), alone()).act == Act::wait);
}

TEST_CASE("An open breaker leads to the next backend at once; alone it is waited for") {
  const Delay open{.obstacle = Obstacle::breaker, .wait = 1};

  CHECK(decide_before(open, with_next()).act == Act::move_on);
  CHECK(decide_before(open, alone()).act == Act::wait);
  CHECK(decide_before(open, alone(0.5)).act == Act::fail);
}

TEST_CASE("max_wait is the sum of all waits for one backend") {
  Situation patient = with_next();
  patient.waited = 7;
  CHECK(decide_before(window_of(Span::minute, 3), patient).act == Act::wait);
  CHECK(decide_before(window_of(Span::minute, 4), patient).act == Act::move_on);

  patient.has_next = false;
  patient.waited = 57;
  CHECK(decide_before(window_of(Span::minute, 3), patient).act == Act::wait);
  CHECK(decide_before(window_of(Span::minute, 4), patient).act == Act::fail);
}

TEST_CASE("A call waits up to max_wait for others to end") {
  for (const Obstacle obstacle : {Obstacle::concurrency, Obstacle::warm_up, Obstacle::line}) {
    const Delay place{.obstacle = obstacle, .wait = 5, .is_unknown = true};
    Situation patient = with_next(1);
    patient.waited = 9;
    CHECK(decide_before(place, patient).act == Act::wait);
    CHECK(decide_before(place, patient).wait == 1);
    patient.waited = 10;
    CHECK(decide_before(place, patient).act == Act::move_on);
    patient.has_next = false;
    CHECK(decide_before(place, patient).act == Act::wait);
    patient.waited = 60;
    CHECK(decide_before(place, patient).act == Act::fail);
    patient.waited = 0;
    patient.left = 0;
    CHECK(decide_before(place, patient).act == Act::fail);
  }
}

TEST_CASE("A place in the line that is free too late leads to the next backend at once") {
  Situation patient = with_next();
  patient.waited = 5;
  CHECK(decide_before({.obstacle = Obstacle::line, .wait = 5}, patient).act == Act::wait);
  CHECK(decide_before({.obstacle = Obstacle::line, .wait = 30}, patient).act == Act::move_on);
}

TEST_CASE("Past the deadline nobody else is asked either") {
  CHECK(decide_before(window_of(Span::day, 61), with_next(0)).act == Act::fail);
  CHECK(decide_before({.obstacle = Obstacle::breaker, .wait = 1}, with_next(-1)).act == Act::fail);
  CHECK(decide_after(failure("auth_error", false), with_next(0)).act == Act::fail);
}

TEST_CASE("A decision says in words what stands in the way") {
  CHECK(decide_before(window_of(Span::minute, 5), alone()).reason ==
        "the window requests (a minute or less) is used up for 5.0 s");
  CHECK(decide_before(window_of(Span::day, 90'000), alone(100'000)).reason ==
        "the window requests (a day or more) is used up for 90000 s; that does not fit into "
        "max_wait (60 s)");
  CHECK(decide_before(window_of(Span::hour, 400), alone()).reason ==
        "the window requests (an hour) is used up for 400 s; the deadline is before that");
  CHECK(decide_before({.obstacle = Obstacle::retry_after, .wait = 12}, alone()).reason ==
        "a rate limit blocks the backend for 12 s");
}

// --- After an attempt

TEST_CASE("What went well is finished, whatever else the answer says") {
  AgentResult good{.content = "ok"};
  good.rate_limit =
      RateLimitState{.limited = true, .retry_after = 50, .windows = {used_up("requests", 50)}};

  CHECK(decide_after(good, with_next()).act == Act::finish);
}

TEST_CASE("At the last backend the backoffs are 2, 8, 16 and 35 seconds; the last one stays") {
  CHECK(backoff_after(kDefaults, 1, false) == 2);
  CHECK(backoff_after(kDefaults, 2, false) == 8);
  CHECK(backoff_after(kDefaults, 3, false) == 16);
  CHECK(backoff_after(kDefaults, 4, false) == 35);
  CHECK(backoff_after(kDefaults, 1'000'000, false) == 35);
  CHECK(backoff_after(kDefaults, 0, false) == 0);
  CHECK(backoff_after(Policy{.backoff = Backoffs{}}, 3, false) == 0);
}

TEST_CASE("While another backend is left, one retry follows after half a second") {
  const CallDecision first = decide_after(failure("server_error", true), with_next());
  CHECK(first.act == Act::wait);
  CHECK(first.wait == 0.5);

  Situation second = with_next();
  second.attempts = 2;
  CHECK(decide_after(failure("server_error", true), second).act == Act::move_on);
}

TEST_CASE("While another backend is left, a retry_after is waited for within max_wait") {
  CHECK(decide_after(refused(9), with_next()).wait == 9);
  CHECK(decide_after(refused(30), with_next()).act == Act::move_on);
  CHECK(decide_after(refused(86'400.0 * 365), with_next()).act == Act::move_on);
  CHECK(decide_after(refused(-1), with_next()).wait == 0.5);
}

TEST_CASE("What an entry says wins over its position") {
  const Policy policy{.max_wait = 30, .max_attempts = 3, .backoff = Backoffs{4}};
  Situation situation{.policy = policy, .attempts = 2, .left = 300, .has_next = true};
  CHECK(decide_after(failure("server_error", true), situation).wait == 4);
  CHECK(decide_before(window_of(Span::minute, 30), situation).act == Act::wait);
}

TEST_CASE("After a timeout of ours the next backend is asked, and the last one again") {
  for (const char* type : {"ConnectTimeout", "FirstTokenTimeout", "StallTimeout", "Timeout"}) {
    CHECK(decide_after(own_timeout(type), with_next()).act == Act::move_on);
    CHECK(decide_after(own_timeout(type), alone()).act == Act::wait);
  }
}

TEST_CASE("A timeout that the provider reports is retried, and its words are no reason") {
  AgentResult reported = failure("timeout", true);
  reported.error->message = "Upstream timed out, said 10.0.0.7.";
  for (const auto status : {std::optional<std::int64_t>(504), std::optional<std::int64_t>()}) {
    reported.error->status_code = status;
    const CallDecision decision = decide_after(reported, with_next());
    CHECK(decision.act == Act::wait);
    CHECK(decision.rule == DispatchRule::retry);
    CHECK(!decision.reason.contains("10.0.0.7"));
  }
}

TEST_CASE("At the deadline the rule is the deadline, also where attempts or a cut could be it") {
  Situation last = with_next(0.001);
  last.attempts = 2;
  CHECK(decide_after(failure("server_error", true), last).act == Act::fail);
  CHECK(decide_after(failure("server_error", true), last).rule == DispatchRule::deadline);

  last.was_heard = last.continues_cuts = true;
  CHECK(decide_after(failure("server_error", true), last).rule == DispatchRule::deadline);
}

TEST_CASE("The last backoff is shortened to fit into max_wait, or is not begun") {
  Situation fourth = alone();
  fourth.attempts = 4;
  fourth.waited = 26;
  CHECK(decide_after(failure("server_error", true), fourth).wait == 34);

  fourth.waited = 45;
  const CallDecision decision = decide_after(failure("server_error", true), fourth);
  CHECK(decision.act == Act::fail);
  CHECK(decision.rule == DispatchRule::max_wait);
}

TEST_CASE("The first piece of a stream may take 10 s while another backend is left, else 60 s") {
  const auto first_token = [](bool has_next, Pace pace) {
    return effective_policy(kDefaults, has_next, pace).first_token;
  };
  CHECK(first_token(true, Pace::fast) == 10);
  CHECK(first_token(false, Pace::fast) == 60);
  CHECK(first_token(true, Pace::slow) == 60);
  CHECK(!first_token(true, Pace::own));
  CHECK(effective_policy({.first_token = 3}, true, Pace::slow).first_token == 3);
}

TEST_CASE("The effective policy has every default of its position") {
  const Policy next = effective_policy(kDefaults, true, Pace::fast);
  CHECK(next == Policy{.max_wait = 10,
                       .max_attempts = 2,
                       .backoff = Backoffs{0.5},
                       .connect = 5,
                       .first_token = 10,
                       .stall = 20});
  const Policy last = effective_policy(kDefaults, false, Pace::own);
  CHECK(last == Policy{.max_wait = 60, .max_attempts = 5, .backoff = Backoffs{2, 8, 16, 35}});
}

TEST_CASE("A retryable failure is waited out with up to a tenth more") {
  Situation situation = alone();
  CHECK(decide_after(failure("server_error", true), situation).wait == 2);

  situation.dice = 1;
  CHECK(decide_after(failure("server_error", true), situation).wait == doctest::Approx(2.2));
}

TEST_CASE("The provider's retry_after is a floor to which jitter only adds") {
  Situation situation = alone();
  CHECK(decide_after(refused(20), situation).wait == 20);
  CHECK(decide_after(refused(0.5), situation).wait == 2);

  situation.dice = 0.5;
  CHECK(decide_after(refused(20), situation).wait == doctest::Approx(21));
}

TEST_CASE("A retry_after below nothing, or of nothing, is none") {
  CHECK(decide_after(refused(0), alone()).wait == 2);
  CHECK(decide_after(refused(-5), alone()).wait == 2);
}

TEST_CASE("max_attempts end it: the next backend, or the failure") {
  Situation fifth = alone();
  fifth.attempts = 5;
  CHECK(decide_after(failure("server_error", true), fifth).act == Act::fail);

  fifth.has_next = true;
  CHECK(decide_after(failure("server_error", true), fifth).act == Act::move_on);

  fifth.has_next = false;
  fifth.attempts = 4;
  CHECK(decide_after(failure("server_error", true), fifth).act == Act::wait);
}

TEST_CASE("The deadline ends it: no wait is begun that goes beyond it") {
  CHECK(decide_after(failure("server_error", true), alone(2)).act == Act::wait);
  CHECK(decide_after(failure("server_error", true), alone(1.9)).act == Act::fail);
  CHECK(decide_after(failure("server_error", true), with_next(0.4)).act == Act::move_on);
}

TEST_CASE("What is not retryable is not tried again, not even when nobody says so") {
  AgentResult silent = failure("server_error", false);
  silent.error->retryable.reset();

  CHECK(decide_after(silent, alone()).act == Act::fail);
  CHECK(decide_after(failure("auth_error", false), alone()).act == Act::fail);
  CHECK(decide_after(failure("auth_error", false), with_next()).act == Act::move_on);
}

TEST_CASE("After the first text the failure is the answer, and so is a cancellation") {
  Situation heard = with_next();
  heard.was_heard = true;
  const auto decide = [&] { return decide_after(failure("server_error", true), heard); };
  CHECK(decide().act == Act::fail);
  CHECK(decide().reason ==
        "the answer was cut after the client got part of it, and on_cut is fail");

  heard.continues_cuts = true;
  CHECK(decide().act == Act::move_on);
  CHECK(decide().rule == DispatchRule::on_cut);
  CHECK(decide().reason == "the answer was cut, and another backend can continue it");

  heard.has_next = false;
  CHECK(decide().act == Act::fail);
  CHECK(decide().reason ==
        "the answer was cut after the client got part of it, and no other backend is left to "
        "continue it");

  AgentResult cancelled{.error = AgentError{.message = "gone"}};
  CHECK(decide_after(cancelled, with_next()).act == Act::fail);
}

TEST_CASE("After a 429 the spans of its windows decide") {
  const auto act = [](const AgentResult& result, const Situation& situation) {
    return decide_after(result, situation).act;
  };
  CHECK(act(refused({}, {used_up("requests_per_minute", 9)}), with_next()) == Act::wait);
  CHECK(act(refused({}, {used_up("requests_per_hour", 40)}), with_next()) == Act::move_on);
  CHECK(act(refused({}, {used_up("requests_per_hour", 40)}), alone()) == Act::wait);
  CHECK(act(refused({}, {used_up("requests_per_day", 5'000)}), with_next()) == Act::move_on);
  CHECK(act(refused({}, {used_up("requests_per_day", 5'000)}), alone(9'000)) == Act::fail);
  CHECK(decide_after(refused({}, {used_up("requests", {})}), alone()).wait == 60);
}

// --- What a refusal says

TEST_CASE("Of several used-up windows the longest counts; windows with something left do not") {
  RateLimitWindow open = used_up("requests_per_day", 9'000);
  open.remaining = 1;
  const RateLimitState state{
      .limited = true,
      .windows = {used_up("requests_per_minute", 7), open, used_up("tokens_per_hour", 70)}};

  const auto delay = delay_of(state);

  REQUIRE(delay);
  CHECK(delay->window == "tokens_per_hour");
  CHECK(delay->wait == 70);
  CHECK(delay->span == Span::hour);
}

TEST_CASE("What the provider asks for counts more than when its bucket is full") {
  const auto delay = delay_of(
      {.limited = true, .retry_after = 2, .windows = {used_up("requests_per_minute", 50)}});

  REQUIRE(delay);
  CHECK(delay->wait == 2);
  CHECK(delay->span == Span::minute);
}

TEST_CASE("A retry_after alone is a limit of its own length; without either there is none") {
  const auto delay = delay_of({.limited = true, .retry_after = 4'000});

  REQUIRE(delay);
  CHECK(delay->obstacle == Obstacle::retry_after);
  CHECK(delay->span == Span::day);
  CHECK(!delay_of({.limited = true}));
  CHECK(!delay_of({.limited = true, .retry_after = 0}));
}

TEST_CASE("A window's length is in its name, whatever it limits") {
  CHECK(length_of_window("requests_per_10_second") == 10);
  CHECK(length_of_window("tokens_per_minute") == 60);
  CHECK(length_of_window("requests_per_hour") == 3'600);
  CHECK(length_of_window("requests_per_day") == 86'400);
  CHECK(length_of_window("tokens_per_month") == 30 * 86'400);
  CHECK(length_of_window("requests") == 0);
  CHECK(length_of_window("") == 0);
}

TEST_CASE("A span ends with its last second") {
  CHECK(span_of(0) == Span::minute);
  CHECK(span_of(60) == Span::minute);
  CHECK(span_of(60.1) == Span::hour);
  CHECK(span_of(3'600) == Span::hour);
  CHECK(span_of(3'601) == Span::day);
  CHECK(span_of(83 * 3'600.0) == Span::day);
}

TEST_CASE("Every obstacle has a name") {
  CHECK(name_of(Obstacle::window) == "window");
  CHECK(name_of(Obstacle::retry_after) == "retry_after");
  CHECK(name_of(Obstacle::breaker) == "breaker");
  CHECK(name_of(Obstacle::concurrency) == "concurrency");
  CHECK(name_of(Obstacle::warm_up) == "warm_up");
}

// --- Whatever comes

double extreme() {
  return static_cast<double>(*rc::gen::element<std::int64_t>(
      std::numeric_limits<std::int64_t>::min(), -1, 0, 1, 2, 59, 60, 61, 299, 3'600, 83 * 3'600,
      std::numeric_limits<std::int64_t>::max()));
}

AgentResult any_failure() {
  AgentResult result =
      failure(*rc::gen::element<std::string>("rate_limit", "server_error", "timeout", "auth_error",
                                             "model_unavailable", "context_length"),
              *rc::gen::arbitrary<bool>());
  if (*rc::gen::arbitrary<bool>()) return result;
  result.rate_limit = RateLimitState{.limited = *rc::gen::arbitrary<bool>()};
  if (*rc::gen::arbitrary<bool>()) result.rate_limit->retry_after = extreme();
  const int windows = *rc::gen::inRange(0, 3);
  for (int i = 0; i < windows; ++i) {
    auto window = used_up(
        *rc::gen::element<std::string>("requests", "requests_per_minute", "tokens_per_day"), {});
    if (*rc::gen::arbitrary<bool>()) window.remaining = extreme();
    if (*rc::gen::arbitrary<bool>()) window.resets_in = extreme();
    if (*rc::gen::arbitrary<bool>()) window.limit = extreme();
    result.rate_limit->windows.push_back(window);
  }
  return result;
}

Policy any_policy() {
  Policy policy{.max_wait = *rc::gen::element(0.0, 1.0, 60.0, 86'400.0),
                .max_attempts = *rc::gen::inRange(1, 7),
                .jitter = *rc::gen::element(0.0, 0.1, 1.0)};
  policy.backoff = *rc::gen::container<Backoffs>(rc::gen::element(0.0, 0.5, 2.0, 35.0));
  return policy;
}

TEST_CASE("Whatever an answer says, no decision waits too short, too long, or for what is futile") {
  CHECK(rc::check([] {
    const Policy policy = any_policy();
    const Situation situation{.policy = policy,
                              .attempts = *rc::gen::inRange(1, 8),
                              .left = *rc::gen::element(-1.0, 0.0, 1.0, 60.0, 300.0, 1e6),
                              .has_next = *rc::gen::arbitrary<bool>(),
                              .was_heard = *rc::gen::arbitrary<bool>(),
                              .dice = *rc::gen::inRange(0, 101) / 100.0};
    const AgentResult result = any_failure();

    const CallDecision decision = decide_after(result, situation);

    RC_ASSERT(decision.act != Act::finish);
    RC_ASSERT(!decision.reason.empty());
    RC_ASSERT(decision.act != Act::move_on || situation.has_next);
    RC_ASSERT(decision.act != Act::move_on || situation.left > 0);
    if (decision.act != Act::wait) return;
    RC_ASSERT(*result.error->retryable);
    RC_ASSERT(!situation.was_heard);
    RC_ASSERT(situation.attempts < *policy.max_attempts);
    RC_ASSERT(decision.wait <= situation.left);
    RC_ASSERT(decision.wait >=
              std::min(backoff_after(policy, situation.attempts, false), *policy.max_wait));
    if (!result.rate_limit || !result.rate_limit->retry_after) return;
    RC_ASSERT(decision.wait >= result.rate_limit->retry_after->value());
  }));
}

TEST_CASE("Whatever stands in the way, no wait is longer than the deadline allows") {
  CHECK(rc::check([] {
    const Policy policy = any_policy();
    const Situation situation{.policy = policy,
                              .left = extreme(),
                              .waited = *rc::gen::element(0.0, 59.0, 1e9),
                              .has_next = *rc::gen::arbitrary<bool>()};
    const Delay delay{.obstacle = static_cast<Obstacle>(*rc::gen::inRange(0, 6)),
                      .wait = std::abs(extreme()),
                      .span = static_cast<Span>(*rc::gen::inRange(0, 3)),
                      .is_unknown = *rc::gen::arbitrary<bool>()};

    const CallDecision decision = decide_before(delay, situation);

    RC_ASSERT(decision.act != Act::finish);
    RC_ASSERT(!decision.reason.empty());
    if (decision.act == Act::move_on) RC_ASSERT(situation.has_next && situation.left > 0);
    if (decision.act != Act::wait) return;
    RC_ASSERT(situation.left >= 0);
    RC_ASSERT(delay.span == Span::hour ||
              decision.wait + situation.waited <= *policy.max_wait + 0.01);
    if (delay.is_unknown) return;  // The wait is only until the next look.
    RC_ASSERT(decision.wait == delay.wait);
    RC_ASSERT(decision.wait <= situation.left);
    RC_ASSERT(delay.span == Span::hour || decision.wait <= *policy.max_wait + 0.01);
    RC_ASSERT(!situation.has_next || delay.obstacle != Obstacle::breaker);
    RC_ASSERT(!situation.has_next || delay.span == Span::minute);
  }));
}

}  // namespace
}  // namespace treaty::dispatch
