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

TEST_CASE("What may pass is tried again once after half a second, then elsewhere") {
  Bench bench;
  for (int i = 0; i < 5; ++i) bench.a->answers.push_back(failure("server_error"));

  const auto ended = bench.run();

  const auto& at = bench.a->asked_at;
  REQUIRE(at.size() == 2);
  CHECK(is_about(at[1] - at[0], 0.5));
  CHECK(ended.call.result.content == "ok");
  CHECK(ended.lines.back() == "b ok");
}

TEST_CASE("At the last backend it is tried again after 2, 8, 16 and up to 35 seconds") {
  Bench bench;
  bench.only_a();
  for (int i = 0; i < 5; ++i) bench.a->answers.push_back(failure("server_error"));
  bench.chain[0].policy.breaker_failures = 0;

  const auto ended = bench.run();

  const auto& at = bench.a->asked_at;
  REQUIRE(at.size() == 5);
  CHECK(is_about(at[1] - at[0], 2));
  CHECK(is_about(at[2] - at[1], 8));
  CHECK(is_about(at[3] - at[2], 16));
  CHECK(at[4] - at[0] == doctest::Approx(60));  // All waits together are max_wait.
  CHECK(bench.told(ended) == "server_error");
}

TEST_CASE("An entry that is the same pool as one that has failed is not another backend") {
  Bench bench;
  bench.chain[1].backend = "a";
  for (int i = 0; i < 9; ++i) bench.a->answers.push_back(failure("server_error"));

  const auto ended = bench.run();

  CHECK(bench.a->asked_at.size() == 5);
  CHECK(bench.told(ended) == "server_error");
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

  CHECK(bench.run().lines == Lines{"a server_error", "wait for a 1", "a ok"});
}

TEST_CASE("Text that was given and not shown is taken back, and the call begins again") {
  for (const bool continues : {false, true}) {
    Bench bench(true);
    bench.streams = true;
    bench.continues_cuts = continues;
    bench.sink.shows = false;
    bench.a->text = "{\"a\":";
    bench.a->answers = {failure("server_error"), failure("server_error")};
    bench.b->text = "whole";
    bench.b->answers.push_back(says("whole"));

    const auto ended = bench.run();

    CHECK(ended.lines ==
          Lines{"a server_error", "wait for a 1", "a server_error", "a to b", "b ok"});
    CHECK(!ended.call.was_continued);
    CHECK(bench.sink.text == "whole");
    CHECK(bench.b->calls.front().messages.empty());
  }
}

TEST_CASE("A provider that refuses to stream an unstreamed call is asked without a stream") {
  Bench bench(false, Pace::fast);
  AgentResult refusal = failure("invalid_request", false);
  refusal.error->message = "Your organization must be verified to stream this model.";
  bench.a->answers = {refusal, says("ok")};

  CHECK(bench.run().lines == Lines{"a invalid_request", "a again", "a ok"});
  CHECK(bench.a->calls[0].stream);
  CHECK(!bench.a->calls[1].stream);

  bench.streams = true;
  bench.a->answers = {refusal};
  CHECK(bench.run().lines == Lines{"a invalid_request"});
}

TEST_CASE("With on_cut: continue another backend continues the answer where the first was cut") {
  Bench bench(true);
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
  REQUIRE(messages.size() == 1);
  CHECK(std::get<backends::AssistantMessage>(messages[0]).text == "Hello wo");
}

// A streamed call whose first backend is cut after `heard`.
Bench::Ended cut_after(Bench& bench, std::string heard) {
  bench.streams = true;
  bench.continues_cuts = true;
  bench.a->text = std::move(heard);
  bench.a->answers.push_back(failure("server_error"));
  return bench.run();
}

TEST_CASE("A continuation that repeats the text first is joined without the repetition") {
  Bench bench(true);
  bench.b->text = "Hello world";
  bench.b->answers.push_back(says("Hello world"));

  const auto ended = cut_after(bench, "Hello wo");

  CHECK(bench.sink.text == "Hello world");
  CHECK(ended.call.result.content == "Hello world");
}

TEST_CASE("A backend that does not continue answers is asked for the whole one") {
  Bench bench;
  bench.b->text = "Hello world";
  bench.b->answers.push_back(says("Hello world"));

  const auto ended = cut_after(bench, "Hello wo");

  CHECK(bench.sink.text == "Hello world");
  CHECK(ended.call.result.content == "Hello world");
  const auto& messages = bench.b->calls.front().messages;
  REQUIRE(messages.size() == 2);
  CHECK(std::get<backends::AssistantMessage>(messages[0]).text == "Hello wo");
  CHECK(std::holds_alternative<backends::UserMessage>(messages[1]));
}

TEST_CASE("A whole answer that does not begin with the text that has left fails the turn") {
  Bench bench;
  bench.b->text = "Good morning";
  bench.b->answers.push_back(says("Good morning"));

  const auto ended = cut_after(bench, "Hello wo");

  CHECK(bench.sink.text == "Hello wo");
  CHECK(ended.call.result.error->type == "CutNotContinued");
}

TEST_CASE("A backend that refuses to continue an answer is asked for the whole one") {
  Bench bench(true);
  bench.b->answers = {failure("invalid_request", false), says("Hello world")};

  const auto ended = cut_after(bench, "Hello wo");

  CHECK(ended.lines == Lines{"a server_error", "a to b", "b invalid_request", "b again", "b ok"});
  CHECK(bench.sink.text == "Hello world");
  CHECK(bench.b->calls[0].messages.size() == 1);
  CHECK(bench.b->calls[1].messages.size() == 2);
}

TEST_CASE("Half a character is completed by the backend that continues") {
  Bench bench(true);
  bench.b->text = "\xC3\xA9.";
  bench.b->answers.push_back(says("\xC3\xA9."));

  const auto ended = cut_after(bench, "caf\xC3");

  CHECK(bench.sink.text == "caf\xC3\xA9.");
  CHECK(ended.call.result.content == "caf\xC3\xA9.");
}

// A call whose conversation has thoughts of `author` in this turn.
backends::Call thinking_call(std::string author) {
  backends::AssistantMessage said{.tool_calls = {{"c1", "look", "{}"}}};
  said.thoughts = {.author = std::move(author), .parts = {{.json = "{}"}}};
  return {.model = {},
          .messages = {
              backends::UserMessage{{backends::TextPart{"Look."}}}, said,
              backends::ToolMessage{.tool_call_id = "c1", .tool_name = "look", .content = "here"}}};
}

TEST_CASE("A provider that refuses the thoughts of its own model is asked once without them") {
  Bench bench;
  bench.a->answers = {failure("invalid_request", false), failure("invalid_request", false)};
  bench.call_with = thinking_call("a/m");

  const auto ended = bench.run();

  CHECK(ended.lines == Lines{"a invalid_request", "a again", "a invalid_request"});
  CHECK(bench.a->calls[0].sends_thoughts);
  CHECK(!bench.a->calls[1].sends_thoughts);
}

TEST_CASE("A third request to a backend waits, also when it is asked without what was refused") {
  Bench bench;
  bench.a->answers = {failure("server_error"), failure("invalid_request", false), says("ok")};
  bench.call_with = thinking_call("a/m");

  bench.run();

  const auto& at = bench.a->asked_at;
  REQUIRE(at.size() == 3);
  CHECK(at[2] - at[0] >= 1.5);
}

TEST_CASE("Who refused thoughts is told to the caller, so that they need not be sent again") {
  Bench bench;
  bench.a->answers = {failure("invalid_request", false), says("ok")};
  bench.call_with = thinking_call("a/m");

  CHECK(bench.run().call.refused_author == "a/m");
  CHECK(bench.run().call.refused_author.empty());
}

TEST_CASE("Thoughts are dropped aloud also for a backend after one that was asked for the whole") {
  Bench bench;
  bench.streams = true;
  bench.continues_cuts = true;
  bench.chain = {{.backend = "a", .model = "m", .preference = 1},
                 {.backend = "b", .model = "m", .preference = 2},
                 {.backend = "b", .model = "n", .preference = 3}};
  bench.call_with = thinking_call("a/m");
  bench.a->text = "Hello";
  bench.a->answers = {failure("server_error")};
  bench.b->answers = {failure("auth_error", false), says("Hello world")};

  CHECK(bench.run().lines == Lines{"a server_error", "a to b", "thoughts dropped for b",
                                   "b auth_error", "b to b", "thoughts dropped for b", "b ok"});
}

TEST_CASE("Thoughts of this turn that another model gets are dropped, and that is told") {
  Bench bench;
  bench.a->answers = {failure("auth_error", false)};
  bench.call_with = thinking_call("a/m");

  CHECK(bench.run().lines == Lines{"a auth_error", "a to b", "thoughts dropped for b", "b ok"});
}

TEST_CASE("Thoughts of earlier turns are another model's without a word") {
  Bench bench;
  bench.call_with = thinking_call("c/m");
  bench.call_with.messages.push_back(backends::UserMessage{{backends::TextPart{"Again."}}});

  CHECK(bench.run().lines == Lines{"a ok"});
}

TEST_CASE("Usage and cost of failed attempts count") {
  Bench bench;
  AgentResult cut = failure("server_error");
  cut.usage = contracts::UsageInfo{.input_tokens = 10, .output_tokens = 1};
  cut.cost = 0.5;
  AgentResult good = says("ok");
  good.usage = contracts::UsageInfo{.input_tokens = 10, .output_tokens = 5, .api_calls = 1};
  good.cost = 0.25;
  bench.only_a();
  bench.a->answers = {cut, failure("timeout"), good};

  const auto result = bench.run().call.result;

  CHECK(result.usage->input_tokens == 20);
  CHECK(result.usage->output_tokens == 6);
  CHECK(result.usage->api_calls == 3);
  CHECK(std::get<double>(*result.cost) == 0.75);
}

TEST_CASE("A second cut is continued from all that was said, told once") {
  Bench bench(true);
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
  REQUIRE(messages.size() == 1);
  CHECK(std::get<backends::AssistantMessage>(messages[0]).text == "One two");
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
