#include "treaty/dispatch/dispatcher.h"

#include <doctest/doctest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <vector>

namespace treaty::dispatch {
namespace {

namespace asio = boost::asio;
using contracts::AgentError;
using contracts::AgentResult;

// Says what it is told to say, and counts.
class Fixed final : public backends::Backend {
 public:
  Fixed(std::string text, AgentResult result)
      : text_(std::move(text)), result_(std::move(result)) {}

  asio::awaitable<AgentResult> run(const backends::Call& call, backends::Sink& sink) override {
    models.push_back(call.model);
    if (!text_.empty()) sink.on_text(text_);
    co_return result_;
  }

  std::vector<std::string> models{};

 private:
  std::string text_;
  AgentResult result_;
};

class Nothing final : public backends::Sink {
 public:
  void on_text(std::string_view) override {}
};

AgentResult failure(std::string code) {
  return {.finish_reason = "error",
          .error = AgentError{.message = "no", .code = std::move(code), .retryable = true}};
}

struct Outcome {
  AgentResult result;
  int attempts = 0;
};

Outcome run(const Backends& backends, const std::vector<Choice>& chain) {
  asio::io_context loop(1);
  Dispatcher dispatcher(backends);
  Nothing sink;
  Outcome outcome;
  auto done = asio::co_spawn(
      loop, dispatcher.run(chain, {.model = ""}, sink, [&](const Attempt&) { ++outcome.attempts; }),
      asio::use_future);
  loop.run();
  outcome.result = done.get();
  return outcome;
}

TEST_CASE("The first choice that answers is the answer") {
  auto first = std::make_shared<Fixed>("", AgentResult{.content = "one"});
  auto second = std::make_shared<Fixed>("", AgentResult{.content = "two"});

  const auto outcome = run({{"a", first}, {"b", second}},
                           {{.backend = "a", .model = "m1"}, {.backend = "b", .model = "m2"}});

  CHECK(outcome.result.content == "one");
  CHECK(outcome.attempts == 1);
  CHECK(first->models == std::vector<std::string>{"m1"});
  CHECK(second->models.empty());
}

TEST_CASE("A failure that another backend may not share leads to the next choice") {
  for (const std::string code : {"rate_limit", "server_error", "auth_error", "model_unavailable"}) {
    const auto outcome = run({{"a", std::make_shared<Fixed>("", failure(code))},
                              {"b", std::make_shared<Fixed>("", AgentResult{.content = "two"})}},
                             {{.backend = "a"}, {.backend = "b"}});

    CHECK(outcome.result.content == "two");
    CHECK(outcome.attempts == 2);
  }
}

TEST_CASE("A failure that is the call's own fault is not tried elsewhere") {
  for (const std::string code : {"context_length", "content_filter", "invalid_request"}) {
    const auto outcome = run({{"a", std::make_shared<Fixed>("", failure(code))},
                              {"b", std::make_shared<Fixed>("", AgentResult{.content = "two"})}},
                             {{.backend = "a"}, {.backend = "b"}});

    CHECK(outcome.result.error->code == code);
    CHECK(outcome.attempts == 1);
  }
}

TEST_CASE("After the first text nothing is tried elsewhere") {
  const auto outcome = run({{"a", std::make_shared<Fixed>("Hel", failure("server_error"))},
                            {"b", std::make_shared<Fixed>("", AgentResult{.content = "two"})}},
                           {{.backend = "a"}, {.backend = "b"}});

  CHECK(outcome.result.error->code == "server_error");
  CHECK(outcome.attempts == 1);
}

TEST_CASE("A backend that nobody configured is a failure, not a crash") {
  CHECK(run({}, {{.backend = "a"}}).result.error->code == "model_unavailable");
}

}  // namespace
}  // namespace treaty::dispatch
