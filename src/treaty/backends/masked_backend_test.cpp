#include "treaty/backends/masked_backend.h"

#include <doctest/doctest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <latch>

namespace treaty::backends {
namespace {

using contracts::AgentResult;

const std::string kKey = "PlainCanary99zzQQ";

std::shared_ptr<const KnownSecrets> secrets() {
  return std::make_shared<const KnownSecrets>(std::vector{kKey});
}

// Says the same to everybody.
class Said : public Backend {
 public:
  Said(std::vector<std::string> deltas, AgentResult result)
      : deltas_(std::move(deltas)), result_(std::move(result)) {}

  boost::asio::awaitable<AgentResult> run(const Call& /*call*/, Sink& sink) override {
    for (const std::string& delta : deltas_) sink.on_text(delta);
    co_return result_;
  }

 private:
  std::vector<std::string> deltas_;
  AgentResult result_;
};

class Heard : public Sink {
 public:
  void on_text(std::string_view delta) override { deltas.emplace_back(delta); }
  std::vector<std::string> deltas{};
};

struct MaskedRun {
  std::vector<std::string> deltas;
  AgentResult result;
};

MaskedRun run(std::vector<std::string> deltas, AgentResult result) {
  MaskedBackend backend(std::make_shared<Said>(std::move(deltas), std::move(result)), secrets());
  boost::asio::io_context context;
  Heard heard;
  auto done =
      boost::asio::co_spawn(context, backend.run({.model = "m"}, heard), boost::asio::use_future);
  context.run();
  return {heard.deltas, done.get()};
}

}  // namespace

TEST_CASE("no text of a result holds a known secret") {
  const std::string said = "it is " + kKey;
  AgentResult result{.content = said, .finish_reason = kKey};
  result.output = json::ObjectText::parse(R"({")" + kKey + R"(": "x", "list": [")" + said +
                                          R"(", {"a": ")" + kKey + R"("}]})");
  result.metadata = json::ObjectText{{"a", kKey}};
  result.error = contracts::AgentError{.message = said, .code = kKey, .type = kKey};
  result.rate_limit = contracts::RateLimitState{.windows = {{.name = kKey, .resource = kKey}}};
  result.provider_data =
      json::ObjectText{{"raw_headers", json::ObjectText{{"x-echo", kKey}, {kKey, "1"}}}};
  result.tool_calls = {{.id = kKey, .name = kKey, .arguments = R"({"a":")" + kKey + R"("})"}};
  result.rendered_user_prompt = said;

  const AgentResult masked = run({}, result).result;

  CHECK(!contracts::encode(masked).contains(kKey));
  CHECK(masked.content == "it is ***");
  CHECK(masked.tool_calls->front().arguments == R"({"a":"***"})");
  CHECK(masked.provider_data->find_object("raw_headers")->find_text("***") == "1");
  CHECK(masked.output->text() == R"({"list":["it is ***",{"a":"***"}],"***":"x"})");
}

TEST_CASE("a result without a secret stays as it is") {
  AgentResult result{.content = "PlainCanary, or so", .finish_reason = "stop"};
  result.provider_data = json::ObjectText{{"provider", "openai"}};

  CHECK(run({}, result).result == result);
}

TEST_CASE("a secret that is cut off at the end of a string of an object is masked") {
  const std::string most = kKey.substr(0, 12);

  const MaskedRun ran = run({}, {.output = json::ObjectText{{"k", "a " + most}, {most, 1}}});

  CHECK(ran.result.output->text() == R"({"k":"a ***","***":1})");
}

TEST_CASE("a secret in the arguments of a tool is masked, also when it is escaped or cut off") {
  const auto arguments_of = [](std::string arguments) {
    const MaskedRun ran = run({}, {.tool_calls = {{{"c1", "t", std::move(arguments)}}}});
    return ran.result.tool_calls->front().arguments;
  };

  CHECK(arguments_of(R"({"q": "\u0050)" + kKey.substr(1) + R"("})") == R"({"q":"***"})");
  CHECK(arguments_of(R"({"q": ["x )" + kKey.substr(0, 12) + R"("]})") == R"({"q":["x ***"]})");
  CHECK(arguments_of(R"({"q": "a\nb"})") == R"({"q": "a\nb"})");
  CHECK(arguments_of(R"({"q": "{\"k\":\"\\u0050)" + kKey.substr(1) + R"(\"}"})") ==
        R"({"q":"{\"k\":\"***\"}"})");
  CHECK(arguments_of(R"({"q": "\u0050)" + kKey.substr(1)) == R"({"q": "***)");
  CHECK(arguments_of(R"({"q": ")" + kKey) == R"({"q": "***)");
}

TEST_CASE(
    "of names that are the same once masked, the last one's value is kept in the first place") {
  const MaskedRun ran =
      run({}, {.output = json::ObjectText{{"a " + kKey, 1}, {"b", 2}, {"a ***", 3}, {kKey, kKey}}});

  CHECK(ran.result.output->text() == R"({"b":2,"a ***":1,"***":"***"})");
}

TEST_CASE("a secret that is split over deltas is masked, and the rest comes when it came") {
  const MaskedRun ran = run({"The ", "key is Plain", "Canary", "99zzQQ", ", and Plain"},
                            {.content = "The key is PlainCanary99zzQQ, and Plain"});

  CHECK(ran.deltas == std::vector<std::string>{"The ", "key is ", "***", ", and ", "Plain"});
  CHECK(ran.result.content == "The key is ***, and Plain");
}

TEST_CASE("a secret that is spelled with escapes is masked in deltas, however they are cut") {
  const std::string said = R"({"k":"Plain\u0043anary99zz\u0051Q"} and \u00)";
  for (std::size_t size = 1; size < 12; ++size) {
    std::vector<std::string> deltas;
    for (std::size_t at = 0; at < said.size(); at += size) deltas.push_back(said.substr(at, size));

    const MaskedRun ran = run(deltas, {.content = said});

    std::string joined;
    for (const std::string& delta : ran.deltas) joined += delta;
    CHECK(joined == R"({"k":"***"} and \u00)");
    CHECK(ran.result.content == joined);
  }
}

TEST_CASE("arguments with a masked number or a masked escape are still JSON") {
  const auto secrets = std::make_shared<const KnownSecrets>(std::vector<std::string>{"1234567890"});
  AgentResult result{
      .tool_calls = {{{"c1", "t", R"({"pin": 1234567890, "k": "\\\u0031234567890"})"}}}};

  mask(result, *secrets);

  CHECK(result.tool_calls->front().arguments == R"({"pin":"***","k":"\\***"})");
}

TEST_CASE("what was held back is told when the answer fails, too") {
  const MaskedRun ran = run({"a Plain"}, {.error = contracts::AgentError{.message = "cut"}});

  CHECK(ran.deltas == std::vector<std::string>{"a ", "Plain"});
}

TEST_CASE("a large answer is masked on the pool, a small one on the event loop") {
  for (const bool is_large : {false, true}) {
    std::latch go_on{1};
    boost::asio::io_context context;
    OffloadPool pool({.threads = 1});
    pool.post([&] { go_on.wait(); });
    const std::string text = std::string(is_large ? 2 * kManyBytes : 10, '.') + kKey + "!";
    const std::string expected = text.substr(0, text.find(kKey)) + "***!";
    MaskedBackend backend(
        std::make_shared<Said>(std::vector<std::string>{text}, AgentResult{.content = text}),
        secrets(), &pool);
    Heard heard;
    auto done =
        boost::asio::co_spawn(context, backend.run({.model = "m"}, heard), boost::asio::use_future);

    context.poll();

    CHECK(heard.deltas.empty() == is_large);
    go_on.count_down();
    context.restart();
    context.run();
    CHECK(done.get().content == expected);
    std::string joined;
    for (const std::string& delta : heard.deltas) joined += delta;
    CHECK(joined == expected);
  }
}

TEST_CASE("what follows a large delta is given after it") {
  const std::string large(2 * kManyBytes, '.');
  const auto [deltas, result] =
      run({"a", large, "b" + kKey.substr(0, 5), kKey.substr(5)}, {.content = "x"});
  std::string joined;
  for (const std::string& delta : deltas) joined += delta;

  CHECK(deltas.front() == "a");
  CHECK(joined == "a" + large + "b***");
}

}  // namespace treaty::backends
