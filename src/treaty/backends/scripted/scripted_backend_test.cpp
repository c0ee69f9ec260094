#include "treaty/backends/scripted/scripted_backend.h"

#include <doctest/doctest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "treaty/testing/simulation/fake_clock.h"

namespace treaty::backends {
namespace {

namespace asio = boost::asio;
using contracts::AgentResult;

struct Pieces final : Sink {
  void on_text(std::string_view delta) override {
    all.emplace_back(delta);
    if (on_first) std::exchange(on_first, nullptr)();
  }
  void on_thinking(std::string_view delta) override { thinking += delta; }
  void on_thoughts(Thoughts given) override { thoughts = std::move(given); }
  std::vector<std::string> all{};
  std::string thinking{};
  Thoughts thoughts{};
  std::function<void()> on_first{};
};

enum class Cancel { no, at_once, after_first_text };

struct Ran {
  AgentResult result{};
  std::vector<std::string> pieces{};
  std::string thinking{};
  Thoughts thoughts{};
};

Ran run(std::string_view script, const Call& call = {.model = "m"}, Cancel cancel = Cancel::no) {
  asio::io_context context;
  const auto read = read_script(script);
  REQUIRE(read);
  ScriptedBackend backend(std::make_shared<ScriptPlayer>(*read),
                          std::make_shared<testing::FakeClock>(context));
  Ran ran;
  Pieces sink;
  asio::cancellation_signal signal;
  const auto stop = [&] {
    asio::post(context, [&] { signal.emit(asio::cancellation_type::terminal); });
  };
  if (cancel == Cancel::after_first_text) sink.on_first = stop;
  asio::co_spawn(context, backend.run(call, sink),
                 asio::bind_cancellation_slot(
                     signal.slot(), [&](const std::exception_ptr& failure, AgentResult result) {
                       CHECK(failure == nullptr);
                       ran.result = std::move(result);
                     }));
  if (cancel == Cancel::at_once) stop();  // Once it has begun to wait.
  context.run();
  ran.pieces = std::move(sink.all);
  ran.thinking = std::move(sink.thinking);
  ran.thoughts = std::move(sink.thoughts);
  return ran;
}

TEST_CASE("A scripted text comes in pieces and as a whole") {
  const Ran ran = run("- {text: [One, ' two'], usage: {input_tokens: 9, output_tokens: 2}}");

  CHECK(ran.pieces == std::vector<std::string>{"One", " two"});
  CHECK(ran.result.content == "One two");
  CHECK(ran.result.finish_reason == "stop");
  CHECK(ran.result.usage->total_tokens == 11);
  CHECK(ran.result.success());
}

TEST_CASE("Scripted thoughts are told apart from the text, and kept for the author of the call") {
  const Ran ran = run("- {thinking: [Let me, ' see.'], text: Yes.}",
                      {.model = "m", .stream = true, .author = "script"});

  CHECK(ran.thinking == "Let me see.");
  CHECK(ran.result.content == "Yes.");
  CHECK(ran.thoughts.author == "script");
  REQUIRE(ran.thoughts.parts.size() == 1);
  CHECK(ran.thoughts.parts[0].json == R"({"reasoning_content":"Let me see."})");
  CHECK(run("- {thinking: Hm., text: Yes.}").thoughts.parts.empty());
}

TEST_CASE("Scripted tool calls have ids even when the script leaves them out") {
  const Ran ran = run("- tool_calls: [{name: look, arguments: {a: 1}}, {name: go, id: x}]");

  REQUIRE(ran.result.tool_calls);
  CHECK(ran.result.finish_reason == "tool_use");
  CHECK(!ran.result.tool_calls->at(0).id.empty());
  CHECK(ran.result.tool_calls->at(0).arguments == R"({"a":1})");
  CHECK(ran.result.tool_calls->at(1).id == "x");
}

TEST_CASE("A scripted error is classified as if it had come over the wire") {
  const Ran limited = run("- {error: {status: 429, message: Slow.}, headers: {retry-after: 20}}");

  CHECK(limited.result.error->code == "rate_limit");
  CHECK(limited.result.error->status_code == 429);
  CHECK(limited.result.error->retryable == true);
  CHECK(limited.result.rate_limit->retry_after == 20);
  CHECK(run("- error: 401").result.error->code == "auth_error");
  CHECK(run("- error: {status: 400, code: context_length_exceeded}").result.error->code ==
        "context_length");
}

TEST_CASE("An error after text ends a stream that began well") {
  const Ran ran = run("- {text: Well, error: 529}", {.model = "m", .stream = true});

  CHECK(ran.pieces == std::vector<std::string>{"Well"});
  CHECK(ran.result.error.has_value());
  CHECK(ran.result.finish_reason == "error");
}

TEST_CASE("What breaks on the way is a server_error that may be tried again") {
  for (const std::string_view fault : {"cut: 4", "cut: head", "reset: 0", "reset: head",
                                       "garbage: 9", "malformed_chunk: json", "html: true"}) {
    CAPTURE(fault);
    const std::string text = fault.starts_with("html") ? "" : "text: One two three, ";
    const Ran ran = run("- {" + text + std::string(fault) + "}");

    REQUIRE(ran.result.error);
    CHECK(ran.result.error->code == "server_error");
    CHECK(ran.result.error->retryable == true);
    CHECK(ran.result.finish_reason == "error");
  }
}

TEST_CASE("An exact body is read by its own words") {
  const Ran ran = run(R"(- {body: '{"error":{"code":"model_not_found"}}', status: 404})");

  CHECK(ran.result.error->code == "model_unavailable");
}

TEST_CASE("Cancelling ends a call that waits, stalls or never ends") {
  for (const std::string_view script : {"- {text: a, delay: 60m}", "- stall: head"}) {
    CAPTURE(script);
    CHECK(run(script, {.model = "m"}, Cancel::at_once).result.finish_reason == "aborted");
  }
  for (const std::string_view script :
       {"- {text: [a, b], chunk_delay: 60m}", "- {text: [a], stall: 1}",
        "- {text: [a], endless: true}"}) {
    CAPTURE(script);
    const Ran ran = run(script, {.model = "m"}, Cancel::after_first_text);
    CHECK(ran.result.finish_reason == "aborted");
    CHECK(ran.pieces.front() == "a");
  }
}

TEST_CASE("A structured output is parsed") {
  const Ran ran =
      run("- text: '{\"a\":1}'", {.model = "m", .output = OutputSchema{.schema_json = "{}"}});

  REQUIRE(ran.result.output);
  CHECK(ran.result.output->find_integer("a") == 1);
}

}  // namespace
}  // namespace treaty::backends
