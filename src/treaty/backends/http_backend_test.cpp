#include "treaty/backends/http_backend.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <vector>

#include "treaty/http/server.h"
#include "treaty/testing/calls.h"
#include "treaty/testing/simulation/fake_clock.h"

namespace treaty::backends {
namespace {

namespace asio = boost::asio;
using contracts::AgentResult;

class Pieces : public Sink {
 public:
  void on_text(std::string_view delta) override {
    all.emplace_back(delta);
    if (on_first) std::exchange(on_first, nullptr)();
  }
  void on_thoughts(Thoughts thoughts) override { kept += thoughts.parts.size(); }
  void on_thoughts_left_out(std::string_view why) override { left_out = why; }
  std::vector<std::string> all{};
  std::size_t kept = 0;
  std::string left_out{};
  std::function<void()> on_first{};
};

const Provider& openai() { return *find_provider("openai"); }

HttpTarget target(std::string base_url) {
  return {.provider = &openai(),
          .protocol = openai().protocol,
          .base_url = std::move(base_url),
          .key = "sk-canary-0123456789"};
}

struct Ran {
  AgentResult result{};
  Pieces pieces{};
  std::vector<http::Request> requests{};
};

// Sees what the caller was given so far.
using WatchingHandler = std::function<asio::awaitable<void>(http::Exchange&, const Pieces&)>;

// One call of a server in the same loop, which answers by `handler`. When the first text has come
// and `cancel` is set, the call is cancelled.
Ran run_watching(const WatchingHandler& handler, const Call& call, bool cancel = false,
                 std::string key = "sk-canary-0123456789") {
  asio::io_context context;
  Ran ran;
  http::Server server(context, [&](http::Exchange& exchange) -> asio::awaitable<void> {
    ran.requests.push_back(exchange.request());
    co_await handler(exchange, ran.pieces);
  });
  const auto port = server.listen("127.0.0.1", 0);
  REQUIRE(port);
  http::Client client(context, {.proxy_from_environment = false});
  HttpTarget whom = target("http://127.0.0.1:" + std::to_string(*port) + "/v1");
  whom.key = std::move(key);
  const results::PriceTable prices(
      {{.provider = "openai", .model = "small-1", .from = 0, .price = {.input = 1'000'000}}});
  HttpBackend backend(client, std::move(whom), prices,
                      std::make_shared<testing::FakeClock>(context));
  asio::cancellation_signal signal;
  if (cancel) {
    ran.pieces.on_first = [&] {
      asio::post(context, [&] { signal.emit(asio::cancellation_type::terminal); });
    };
  }
  asio::co_spawn(context, backend.run(call, ran.pieces),
                 asio::bind_cancellation_slot(
                     signal.slot(), [&](const std::exception_ptr& thrown, AgentResult result) {
                       CHECK(thrown == nullptr);
                       ran.result = std::move(result);
                       server.stop();
                       context.stop();
                     }));
  context.run();
  return ran;
}

Ran run(const http::Handler& handler, const Call& call, bool cancel = false,
        std::string key = "sk-canary-0123456789") {
  return run_watching([&](http::Exchange& exchange, const Pieces&) { return handler(exchange); },
                      call, cancel, std::move(key));
}

// Lets the loop go on until the caller has a piece, or gives up: then the test fails, not hangs.
asio::awaitable<void> until_given(const Pieces& pieces) {
  for (int rounds = 0; pieces.all.empty() && rounds < 100'000; ++rounds) {
    co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
  }
}

http::Handler responds(int status, const std::string& body, const Headers& headers = {}) {
  return [=](http::Exchange& exchange) -> asio::awaitable<void> {
    http::Response response{.status = status, .headers = headers, .body = body};
    co_await exchange.respond(std::move(response));
  };
}

const std::string kCompletion =
    R"({"model":"small-1","choices":[{"index":0,"message":{"role":"assistant",)"
    R"("content":"Hi."},"finish_reason":"stop"}],)"
    R"("usage":{"prompt_tokens":2,"completion_tokens":1,"total_tokens":3}})";

std::string chunk(const std::string& delta) {
  return R"(data: {"model":"small-1","choices":[{"index":0,"delta":)" + delta + "}]}\n\n";
}

}  // namespace

TEST_CASE("a plain answer becomes one AgentResult, and its text one piece") {
  const Ran ran = run(responds(200, kCompletion, {{"content-type", "application/json"}}),
                      testing::simple_call());

  CHECK(ran.result.success());
  CHECK(ran.result.content == "Hi.");
  CHECK(ran.pieces.all == std::vector<std::string>{"Hi."});
  REQUIRE(ran.requests.size() == 1);
  CHECK(ran.requests[0].target == "/v1/chat/completions");
  CHECK(ran.requests[0].headers.get("authorization") == "Bearer sk-canary-0123456789");
  REQUIRE(ran.result.cost);
  CHECK(std::get<contracts::CostInfo>(*ran.result.cost).total == 0.000002);
}

TEST_CASE("a streamed answer gives its text in pieces, and the same result") {
  Call call = testing::simple_call();
  call.stream = true;
  const Ran ran = run_watching(
      [](http::Exchange& exchange, const Pieces& pieces) -> asio::awaitable<void> {
        co_await exchange.begin(200, {{"content-type", "text/event-stream"}});
        co_await exchange.write(chunk(R"({"content":"H"})"));
        co_await until_given(pieces);
        co_await exchange.write(chunk(R"({"content":"i."})"));
        co_await exchange.write(chunk(R"({},"finish_reason":"stop")") + "data: [DONE]\n\n");
        co_await exchange.end();
      },
      call);

  CHECK(ran.result.success());
  CHECK(ran.result.content == "Hi.");
  CHECK(ran.pieces.all == std::vector<std::string>{"H", "i."});
}

TEST_CASE("an error's status, body and headers become the error") {
  const Ran ran = run(responds(429, R"({"error":{"message":"Slow sk-canary-0123456789 down."}})",
                               {{"retry-after", "7"}}),
                      testing::simple_call());

  REQUIRE(ran.result.error);
  CHECK(ran.result.error->code == "rate_limit");
  CHECK(ran.result.error->status_code == 429);
  CHECK(!ran.result.error->message.contains("canary"));
  REQUIRE(ran.result.rate_limit);
  CHECK(ran.result.rate_limit->retry_after == Number(7));
  CHECK(ran.pieces.all.empty());
}

TEST_CASE("an answer that breaks off is a server_error, unless it was whole already") {
  Call call = testing::simple_call();
  call.stream = true;
  const auto broken_after = [&](const std::string& bytes) {
    return run(
        [bytes](http::Exchange& exchange) -> asio::awaitable<void> {
          co_await exchange.begin(200, {{"content-type", "text/event-stream"}});
          co_await exchange.write(bytes);
          exchange.abort(false);
        },
        call);
  };
  const std::string text = chunk(R"({"content":"Hi."})");

  const Ran cut = broken_after(text);
  const Ran whole = broken_after(text + chunk(R"({},"finish_reason":"stop")") + "data: [DONE]\n\n");

  REQUIRE(cut.result.error);
  CHECK(cut.result.error->code == "server_error");
  CHECK(cut.result.error->type == failure_types::kReset);
  CHECK(cut.result.error->retryable == true);
  CHECK(cut.result.finish_reason == "error");
  CHECK(whole.result.success());
  CHECK(whole.result.finish_reason == "stop");
}

TEST_CASE("comments and pings do not count as an answer, reasoning and tool calls do") {
  using namespace std::chrono_literals;
  Call call = testing::simple_call();
  call.stream = true;
  call.timeouts = {.first_token = 50ms, .stall = 40ms};
  const auto failure_after = [&](const std::string& bytes) {
    const Ran ran = run(
        [bytes](http::Exchange& exchange) -> asio::awaitable<void> {
          co_await exchange.begin(200, {{"content-type", "text/event-stream"}});
          co_await exchange.write(bytes);
          while (co_await exchange.write(": keep-alive\n\nevent: ping\ndata: {}\n\n")) {
            co_await sleep_for(2ms);
          }
        },
        call);
    REQUIRE(ran.result.error);
    CHECK(ran.result.error->code == "timeout");
    CHECK(ran.result.error->retryable == true);
    CHECK(!ran.result.error->status_code);
    return ran.result.error->type.value_or("");
  };

  CHECK(failure_after("") == failure_types::kFirstTokenTimeout);
  CHECK(failure_after(": hello\n\n") == failure_types::kFirstTokenTimeout);
  CHECK(failure_after(chunk(R"({"content":"H"})")) == failure_types::kStallTimeout);
  CHECK(failure_after(chunk(R"({"reasoning_content":"Hm."})")) == failure_types::kStallTimeout);
}

TEST_CASE("an answer that is complete does not wait for the end of its stream") {
  Call call = testing::simple_call();
  call.stream = true;
  const Ran ran = run(
      [](http::Exchange& exchange) -> asio::awaitable<void> {
        co_await exchange.begin(200, {{"content-type", "text/event-stream"}});
        co_await exchange.write(chunk(R"({"content":"Hi."})") +
                                chunk(R"({},"finish_reason":"stop")"));
        co_await exchange.closed();
      },
      call);

  CHECK(ran.result.success());
  CHECK(ran.result.content == "Hi.");
}

TEST_CASE("the text of an event without its blank line reaches the sink, too") {
  Call call = testing::simple_call();
  call.stream = true;
  const Ran ran = run(
      [](http::Exchange& exchange) -> asio::awaitable<void> {
        const std::string last = chunk(R"({"content":"there."},"finish_reason":"stop")");
        co_await exchange.begin(200, {{"content-type", "text/event-stream"}});
        co_await exchange.write(chunk(R"({"content":"Hi "})") + last.substr(0, last.size() - 2));
        co_await exchange.end();
      },
      call);

  CHECK(ran.result.content == "Hi there.");
  CHECK(ran.pieces.all == std::vector<std::string>{"Hi ", "there."});
}

TEST_CASE("the framing of a stream does not count towards the largest answer") {
  Call call = testing::simple_call();
  call.stream = true;
  const std::string frame(300, 'x');
  const auto deltas = [&](std::size_t count, std::size_t size) {
    return run(
        [=](http::Exchange& exchange) -> asio::awaitable<void> {
          std::string some;
          for (int i = 0; i < 100; ++i) {
            some += chunk(R"({"content":")" + std::string(size, 'a') + R"(","frame":")" + frame +
                          R"("})");
          }
          co_await exchange.begin(200, {{"content-type", "text/event-stream"}});
          for (std::size_t i = 0; i < count / 100; ++i) {
            if (!co_await exchange.write(some)) co_return;
          }
          co_await exchange.write(chunk(R"({},"finish_reason":"stop")") + "data: [DONE]\n\n");
          co_await exchange.end();
        },
        call);
  };

  const Ran many = deltas(40'000, 4);  // 16 MB on the wire.
  CHECK(many.result.success());
  CHECK(many.result.content->size() == 160'000);

  const Ran large = deltas(2'000, 10'000);
  REQUIRE(large.result.error);
  CHECK(large.result.error->type == failure_types::kTooLarge);
  CHECK(large.result.error->message == "the answer is larger than 12 MiB");
}

TEST_CASE("a plain answer that is too large is an error") {
  const Ran ran =
      run(responds(200, R"({"choices":[{"message":{"content":")" + std::string(13 << 20, 'a') +
                            R"("},"finish_reason":"stop"}]})"),
          testing::simple_call());

  REQUIRE(ran.result.error);
  CHECK(ran.result.error->type == failure_types::kTooLarge);
}

TEST_CASE("a server that accepts and says nothing ends by first_token") {
  using namespace std::chrono_literals;
  Call call = testing::simple_call();
  call.stream = true;
  call.timeouts.first_token = 40ms;
  const Ran ran = run(
      [](http::Exchange& exchange) -> asio::awaitable<void> { co_await exchange.closed(); }, call);

  REQUIRE(ran.result.error);
  CHECK(ran.result.error->type == failure_types::kFirstTokenTimeout);
  CHECK(ran.result.error->message == "no piece of the answer came within 0.04 s");
}

TEST_CASE("a status that says it all survives a cut body") {
  const Ran ran = run(
      [](http::Exchange& exchange) -> asio::awaitable<void> {
        co_await exchange.begin(401, {{"content-type", "application/json"}});
        co_await exchange.write(R"({"error":{"mess)");
        exchange.abort(true);
      },
      testing::simple_call());

  REQUIRE(ran.result.error);
  CHECK(ran.result.error->code == "auth_error");
  CHECK(ran.result.error->status_code == 401);
}

TEST_CASE("a cancelled call ends with aborted") {
  Call call = testing::simple_call();
  call.stream = true;
  const Ran ran = run(
      [](http::Exchange& exchange) -> asio::awaitable<void> {
        co_await exchange.begin(200, {{"content-type", "text/event-stream"}});
        while (co_await exchange.write(chunk(R"({"content":"more "})"))) {
        }
      },
      call, true);

  CHECK(ran.result.finish_reason == "aborted");
  REQUIRE(ran.result.error);
  CHECK(ran.result.error->type == failure_types::kCancelled);
  CHECK(ran.result.error->retryable == false);
}

TEST_CASE("without its key a provider is not called, nor with one that no header takes") {
  const auto handler = responds(200, kCompletion);

  const Ran missing = run(handler, testing::simple_call(), false, "");
  const Ran split = run(handler, testing::simple_call(), false, "a\r\nx-evil: 1");

  CHECK(missing.requests.empty());
  CHECK(missing.result.error->code == "auth_error");
  CHECK(missing.result.error->message == "openai needs a key: OPENAI_API_KEY is not set");
  CHECK(split.requests.empty());
  CHECK(split.result.error->type == failure_types::kBadKey);
  CHECK(!split.result.error->message.contains("evil"));
}

TEST_CASE("every failure of a connection has a code, and only a timeout has its own") {
  using enum http::FailureKind;
  for (const auto kind : {bad_address, refused, reset, tls, too_large, malformed}) {
    const auto error = error_of({kind, "what happened"});
    CHECK(error.code == "server_error");
    CHECK(error.retryable == true);
    CHECK(error.message == "what happened");
    CHECK(!error.type->empty());
  }
  CHECK(error_of({timeout, ""}).code == "timeout");
  CHECK(error_of({timeout, ""}).retryable == true);
  CHECK(!error_of({cancelled, ""}).code);
}

TEST_CASE("an answer may be silent for as long as the whole call may take") {
  using std::chrono::milliseconds;
  const auto timeouts = [](int total) { return fetch_within(milliseconds(total)).timeouts; };
  CHECK(timeouts(5).connect == milliseconds(5));
  CHECK(timeouts(900'000).connect == http::Timeouts().connect);
  for (const int total : {5, 900'000}) {
    CHECK(timeouts(total).first_byte == milliseconds(total));
    CHECK(timeouts(total).idle == milliseconds(total));
    CHECK(timeouts(total).total == milliseconds(total));
  }
}

TEST_CASE("Thoughts that no request may hold are left out, and the caller hears of it") {
  const auto ran = [](std::string_view details) {
    Call call = testing::simple_call();
    call.author = "me";
    return run(
        responds(200, fmt::format(R"({{"choices":[{{"message":{{"content":"Hi.",)"
                                  R"("reasoning_details":[{}]}},"finish_reason":"stop"}}]}})",
                                  details)),
        call);
  };
  const Ran good = ran(R"({"text":"a"})");
  CHECK(good.pieces.kept == 1);
  CHECK(good.pieces.left_out.empty());
  const Ran bad = ran(R"({"text":"a"},{"text":"a\ud83d b"})");
  CHECK(bad.result.content == "Hi.");
  CHECK(bad.pieces.kept == 0);
  CHECK(bad.pieces.left_out.contains("no JSON"));
}

}  // namespace treaty::backends
