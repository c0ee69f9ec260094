#include "treaty/cli/bridge/progress.h"

#include <doctest/doctest.h>

#include <semaphore>

namespace treaty::cli {
namespace {

using namespace contracts;

bridge::Exchange exchange(std::string suffix = "", std::optional<std::int64_t> phase = std::nullopt,
                          std::optional<std::string> name = std::nullopt) {
  bridge::Exchange one{.suffix = std::move(suffix)};
  one.request.state = bridge::FileState::whole;
  one.request.document = BridgeRequest{.request_id = "i",
                                       .version = "1.0",
                                       .agent_name = "reviewer",
                                       .prompt = "p",
                                       .created_at = "2026-03-01T08:30:00Z",
                                       .phase = phase,
                                       .phase_name = std::move(name)};
  return one;
}

BridgeResponse response(json::ObjectText metadata = {}) {
  return {.request_id = "i",
          .outcome = BridgeSuccess{"No."},
          .created_at = "2026-03-01T08:30:05Z",
          .duration_seconds = 1.25,
          .metadata = std::move(metadata)};
}

}  // namespace

TEST_CASE("a phase is told by its number and its name, as far as it has them") {
  CHECK(phase_text(exchange("", 2, "review")) == "phase 2 (review)");
  CHECK(phase_text(exchange("", 2)) == "phase 2");
  CHECK(phase_text(exchange("-phase3", std::nullopt, "review")) == "phase 3 (review)");
  CHECK(phase_text(exchange("", std::nullopt, "review")) == "phase review");
  CHECK(phase_text(exchange()) == "request");
  CHECK(phase_text(bridge::Exchange{.suffix = "-phase4"}) == "phase 4");
}

TEST_CASE("an answer is one line: phase, agent, seconds, tokens, how it went") {
  const BridgeResponse given =
      response({{"agent", "reviewer"}, {"input_tokens", 12}, {"output_tokens", 3}});

  CHECK(answer_line(exchange("", 2, "review"), given) ==
        "phase 2 (review) · agent reviewer · 1.2 s · 12 tokens in, 3 out · success");
}

TEST_CASE("an agent that stands in for another one is told") {
  CHECK(answer_line(exchange("", 1), response({{"agent", "default"}})) ==
        "phase 1 · agent default (for reviewer) · 1.2 s · success");
}

TEST_CASE("an error and a timeout are told with their reasons") {
  BridgeResponse given = response();
  given.outcome = BridgeError{.error_message = "too many", .error_type = "rate_limit"};
  CHECK(answer_line(exchange("", 1), given) == "phase 1 · 1.2 s · error rate_limit: too many");

  given.outcome = BridgeError{.error_message = "no"};
  CHECK(answer_line(exchange("", 1), given) == "phase 1 · 1.2 s · error: no");

  given.outcome = BridgeTimeout{.error_message = "late"};
  CHECK(answer_line(exchange("", 1), given) == "phase 1 · 1.2 s · timeout: late");
}

TEST_CASE("nothing that a program or an agent says plays tricks on a terminal") {
  BridgeResponse given = response({{"agent", "a\x1b[31m\n"}});
  given.outcome = BridgeError{.error_message = "x\r\x1b[2Ky", .error_type = "t\n"};

  const std::string line = answer_line(exchange("", 1, "n\x1b]0;title\x07\n"), given);

  CHECK(line.find_first_of("\x1b\r\n\x07") == std::string::npos);
}

TEST_CASE("tokens that are no counts are not told") {
  const BridgeResponse given =
      response({{"input_tokens", "12"}, {"output_tokens", 3}, {"agent", 7}});

  CHECK(answer_line(exchange("", 1), given) == "phase 1 · 1.2 s · success");
}

using namespace std::chrono_literals;

TEST_CASE("a repeater whose time is not up does nothing, and does not hold up its end") {
  bool acted = false;
  {
    const Repeater repeater(24h, [&] { acted = true; });
    CHECK(!repeater.has_acted());
  }
  CHECK(!acted);
}

TEST_CASE("a repeater acts again and again until it is heard") {
  std::counting_semaphore<> acted{0};

  const Repeater repeater(1ms, [&] { acted.release(); });

  for (int time = 0; time < 3; ++time) CHECK(acted.try_acquire_for(60s));
  CHECK(repeater.has_acted());
}

TEST_CASE("a repeater may wait as long as a request can wait") {
  bool acted = false;
  {
    const Repeater repeater(std::chrono::seconds(30LL * 24 * 3600), [&] { acted = true; });
  }
  CHECK(!acted);
}

}  // namespace treaty::cli
