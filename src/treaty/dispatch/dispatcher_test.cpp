// What is asked, and when it is tried again or elsewhere, on a simulated clock.
#include <doctest/doctest.h>

#include "treaty/testing/simulation/two_backends.h"

namespace treaty::testing {
namespace {

TEST_CASE("A first choice that answers is asked once, and nobody else is") {
  Bench bench;

  const auto ended = bench.run();

  CHECK(ended.call.result.content == "ok");
  CHECK(ended.lines == Lines{"a ok"});
  CHECK(bench.b->asked_at.empty());
}

TEST_CASE(
    "What may pass is tried again after 2, 8, 16 and 35 seconds and a little, then elsewhere") {
  Bench bench;
  for (int i = 0; i < 5; ++i) bench.a->answers.push_back(failure("server_error"));
  bench.chain[0].policy.breaker_failures = 0;

  const auto ended = bench.run();

  const auto& at = bench.a->asked_at;
  REQUIRE(at.size() == 5);
  CHECK(is_about(at[1] - at[0], 2));
  CHECK(is_about(at[2] - at[1], 8));
  CHECK(is_about(at[3] - at[2], 16));
  CHECK(is_about(at[4] - at[3], 35));
  CHECK(ended.call.result.content == "ok");
  CHECK(ended.lines.back() == "b ok");
}

TEST_CASE("What does not pass by itself is not tried again") {
  for (const std::string code : {"auth_error", "model_unavailable", "rate_limit"}) {
    Bench bench;
    bench.a->answers.push_back(failure(code, false));

    const auto ended = bench.run();

    CHECK(ended.lines == Lines{"a " + code, "a to b", "b ok"});
    CHECK(ended.took == 0);
  }
}

TEST_CASE("What every backend would refuse is not tried elsewhere, unless an entry wants it") {
  for (const std::string code : {"context_length", "content_filter", "invalid_request"}) {
    Bench bench;
    bench.a->answers.push_back(failure(code, false));
    CHECK(bench.run().lines == Lines{"a " + code});

    bench.chain[1].on = {code};
    bench.a->answers.push_back(failure(code, false));
    CHECK(bench.run().lines == Lines{"a " + code, "a to b", "b ok"});
  }
}

TEST_CASE("An entry with conditions is not asked for other failures, nor first") {
  Bench bench;
  bench.chain[1].on = {"context_length"};
  bench.a->answers.push_back(failure("auth_error", false));
  CHECK(bench.run().lines == Lines{"a auth_error"});

  std::swap(bench.chain[0].preference, bench.chain[1].preference);
  CHECK(bench.run().lines == Lines{"a ok"});
}

TEST_CASE("Where nobody answers, the second attempt is the last when there is another backend") {
  Bench bench;
  AgentResult nobody = failure("server_error");
  nobody.error->type = "ConnectionRefused";
  bench.a->answers = {nobody, nobody, nobody};

  CHECK(bench.run().lines ==
        Lines{"a server_error", "wait for a 2", "a server_error", "a to b", "b ok"});

  bench.a->answers = {nobody, nobody};
  bench.only_a();
  CHECK(bench.run().call.result.content == "ok");
}

TEST_CASE("No wait goes past the deadline: the failure is told at once") {
  Bench bench;
  bench.only_a();
  bench.deadline = 9;
  for (int i = 0; i < 5; ++i) bench.a->answers.push_back(failure("server_error"));

  const auto ended = bench.run();

  CHECK(bench.a->asked_at.size() == 2);
  CHECK(ended.took < 9);
  CHECK(bench.told(ended) == "server_error");
}

TEST_CASE("After the first text a failure is the answer") {
  Bench bench;
  bench.streams = true;
  bench.a->text = "Hel";
  bench.a->answers.push_back(failure("server_error"));

  CHECK(bench.run().lines == Lines{"a server_error"});
}

TEST_CASE("Text that no client was sent does not keep a call from being tried again") {
  Bench bench;
  bench.a->text = "Hel";
  bench.a->answers.push_back(failure("server_error"));

  CHECK(bench.run().lines == Lines{"a server_error", "wait for a 2", "a ok"});
}

TEST_CASE("With on_cut: continue another backend goes on where the first was cut") {
  Bench bench;
  bench.streams = true;
  bench.continues_cuts = true;
  bench.a->text = "Hello wo";
  bench.a->answers.push_back(failure("server_error"));
  bench.b->text = "rld";
  bench.b->answers.push_back(says("rld"));

  const auto ended = bench.run();

  CHECK(ended.call.was_continued);
  CHECK(ended.call.result.content == "Hello world");
  CHECK(bench.sink.text == "Hello world");
  const auto& messages = bench.b->calls.front().messages;
  REQUIRE(messages.size() == 2);
  CHECK(std::get<backends::AssistantMessage>(messages[0]).text == "Hello wo");
}

TEST_CASE("Usage and cost of failed attempts count") {
  Bench bench;
  AgentResult cut = failure("server_error");
  cut.usage = contracts::UsageInfo{.input_tokens = 10, .output_tokens = 1};
  cut.cost = 0.5;
  AgentResult good = says("ok");
  good.usage = contracts::UsageInfo{.input_tokens = 10, .output_tokens = 5, .api_calls = 1};
  good.cost = 0.25;
  bench.a->answers = {cut, failure("timeout"), good};

  const auto result = bench.run().call.result;

  CHECK(result.usage->input_tokens == 20);
  CHECK(result.usage->output_tokens == 6);
  CHECK(result.usage->api_calls == 3);
  CHECK(std::get<double>(*result.cost) == 0.75);
}

TEST_CASE("A second cut is continued from all that was said, told once") {
  Bench bench;
  bench.streams = true;
  bench.continues_cuts = true;
  bench.chain.push_back({.backend = "a", .model = "n", .preference = 3});
  bench.a->text = "One ";
  bench.b->text = "two ";
  bench.a->answers = {failure("server_error"), says("three")};
  bench.b->answers.push_back(failure("server_error"));

  const auto ended = bench.run();

  CHECK(ended.call.result.content == "One two three");
  const auto& messages = bench.a->calls.back().messages;
  REQUIRE(messages.size() == 2);
  CHECK(std::get<backends::AssistantMessage>(messages[0]).text == "One two ");
}

TEST_CASE("Equals are drawn by their weights") {
  Bench bench;
  bench.chain[1].preference = 1;
  bench.chain[0].weight = 3;
  for (int i = 0; i < 400; ++i) bench.run();

  CHECK(bench.a->asked_at.size() > 260);
  CHECK(bench.a->asked_at.size() < 340);
  CHECK(bench.a->asked_at.size() + bench.b->asked_at.size() == 400);
}

TEST_CASE("A backend that nobody configured is a failure, not a crash") {
  Bench bench;
  bench.chain = {{.backend = "c"}};

  CHECK(bench.told(bench.run()) == "model_unavailable");
}

TEST_CASE("An agent without a backend fails, too") {
  Bench bench;
  bench.chain.clear();

  CHECK(bench.told(bench.run()) == "model_unavailable");
}

}  // namespace
}  // namespace treaty::testing
