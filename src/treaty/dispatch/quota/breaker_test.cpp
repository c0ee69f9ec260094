// When a backend is left alone, and when it is tried again.
#include "treaty/dispatch/quota/breaker.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

namespace treaty::dispatch {
namespace {

using contracts::AgentError;
using contracts::AgentResult;

const Policy kPolicy{};

AgentResult good() { return {.content = "ok"}; }
AgentResult bad(std::string code = "server_error") {
  return {.error = AgentError{.message = "no", .code = std::move(code)}};
}
AgentResult cancelled() { return {.error = AgentError{.message = "gone"}}; }

// Five failures at that moment.
Breaker opened(Moment now) {
  Breaker breaker;
  for (int i = 0; i < 5; ++i) breaker.tell(bad(), breaker.begin(), kPolicy, now);
  return breaker;
}

TEST_CASE("The fifth failure in a row opens it, for 30 seconds") {
  Breaker breaker;
  for (int i = 0; i < 4; ++i) CHECK(!breaker.tell(bad(), breaker.begin(), kPolicy, 10).opened);
  CHECK(breaker.state(10) == BreakerState::closed);

  CHECK(breaker.tell(bad(), breaker.begin(), kPolicy, 10).opened);

  CHECK(breaker.state(10) == BreakerState::open);
  CHECK(!breaker.lets(10));
  CHECK(!breaker.lets(39.9));
  CHECK(breaker.lets(40));
  CHECK(breaker.state(40) == BreakerState::probing);
}

TEST_CASE("A success in between begins the count anew") {
  Breaker breaker;
  for (int i = 0; i < 4; ++i) breaker.tell(bad(), false, kPolicy, 10);
  breaker.tell(good(), false, kPolicy, 10);

  for (int i = 0; i < 4; ++i) breaker.tell(bad(), false, kPolicy, 10);

  CHECK(breaker.state(10) == BreakerState::closed);
}

TEST_CASE("One probe is let through, and closes it when it goes well") {
  Breaker breaker = opened(0);
  REQUIRE(breaker.lets(30));
  CHECK(breaker.begin());
  CHECK(!breaker.lets(31));

  CHECK(breaker.tell(good(), true, kPolicy, 32).closed);

  CHECK(breaker.state(32) == BreakerState::closed);
  CHECK(breaker.failures == 0);
  CHECK(!breaker.begin());
}

TEST_CASE("A probe that fails opens it again, from then on") {
  Breaker breaker = opened(0);
  breaker.begin();

  CHECK(breaker.tell(bad(), true, kPolicy, 35).opened);

  CHECK(!breaker.lets(64.9));
  CHECK(breaker.lets(65));
}

TEST_CASE("A probe that nobody knows the end of makes room for another") {
  Breaker dropped = opened(0);
  dropped.begin();
  dropped.give_up_probe();
  CHECK(dropped.lets(30));

  Breaker unknown = opened(0);
  unknown.begin();
  const auto told = unknown.tell(cancelled(), true, kPolicy, 31);
  CHECK(!told.opened);
  CHECK(!told.closed);
  CHECK(unknown.lets(31));
  CHECK(unknown.state(31) == BreakerState::probing);
}

TEST_CASE("Calls that were on their way when it opened do not keep it open for longer") {
  Breaker breaker = opened(0);

  CHECK(!breaker.tell(bad(), false, kPolicy, 20).opened);

  CHECK(breaker.lets(30));
}

TEST_CASE("A call that was on its way and went well closes it") {
  Breaker breaker = opened(0);

  CHECK(breaker.tell(good(), false, kPolicy, 5).closed);

  CHECK(breaker.lets(5));
}

TEST_CASE("Limits, refused keys, unknown models and wrong calls do not open it") {
  for (const char* code : {"rate_limit", "auth_error", "model_unavailable", "context_length",
                           "content_filter", "invalid_request", "budget_exhausted"}) {
    CAPTURE(code);
    CHECK(!counts_as_failure(*bad(code).error));
    Breaker breaker;
    for (int i = 0; i < 9; ++i) breaker.tell(bad(code), false, kPolicy, 1);
    CHECK(breaker.state(1) == BreakerState::closed);
  }
  CHECK(!counts_as_failure(*cancelled().error));
}

TEST_CASE("Failures of the backend itself count, a model that is being loaded among them") {
  for (const char* code : {"server_error", "timeout"}) CHECK(counts_as_failure(*bad(code).error));
  AgentResult loading = bad("model_unavailable");
  loading.error->retryable = true;
  CHECK(counts_as_failure(*loading.error));
}

TEST_CASE("A 429 or a 401 between failures does not hide them, but as a probe it closes it") {
  for (const char* code : {"rate_limit", "auth_error", "model_unavailable"}) {
    CAPTURE(code);
    Breaker breaker;
    for (int i = 0; i < 4; ++i) breaker.tell(bad(), false, kPolicy, 1);
    breaker.tell(bad(code), false, kPolicy, 1);
    CHECK(breaker.tell(bad(), false, kPolicy, 1).opened);

    breaker.begin();
    CHECK(breaker.tell(bad(code), true, kPolicy, 40).closed);
  }
}

TEST_CASE("Without a number of failures there is no breaker") {
  const Policy none{.breaker_failures = 0};
  Breaker breaker;
  for (int i = 0; i < 100; ++i) breaker.tell(bad(), breaker.begin(), none, 1);

  CHECK(breaker.lets(1));
}

TEST_CASE("Whatever happens, one probe at a time goes, and a good one always closes") {
  CHECK(rc::check([](const std::vector<std::uint8_t>& steps) {
    Breaker breaker;
    std::vector<bool> running;  // Whether each is the probe.
    Moment now = 0;
    for (const std::uint8_t step : steps) {
      now += step % 7;
      if (step % 3 != 0 && breaker.lets(now)) running.push_back(breaker.begin());
      RC_ASSERT(std::ranges::count(running, true) <= 1);
      if (step % 3 != 0 || running.empty()) continue;
      const bool was_probe = running.back();
      running.pop_back();
      if (step % 5 == 0) {
        breaker.tell(good(), was_probe, kPolicy, now);
        RC_ASSERT(breaker.lets(now));
      } else {
        breaker.tell(step % 5 == 1 ? cancelled() : bad(), was_probe, kPolicy, now);
      }
    }
    for (const bool was_probe : running) breaker.tell(cancelled(), was_probe, kPolicy, now);
    RC_ASSERT(breaker.lets(now + kPolicy.breaker_open));
  }));
}

}  // namespace
}  // namespace treaty::dispatch
