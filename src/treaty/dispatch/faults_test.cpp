// The faults of providers on a chain of two, with the default patience, on a simulated clock.
#include <doctest/doctest.h>

#include "treaty/testing/simulation/faulty_provider.h"

namespace treaty::testing {
namespace {

constexpr std::string_view kBegin = "One two three";
constexpr std::string_view kRest = " four five six.";
constexpr std::string_view kWhole = "One two three four five six.";

Played healthy(const backends::Call& call, std::size_t /*attempt*/) {
  const auto* last = std::get_if<backends::AssistantMessage>(&call.messages.back());
  return {.pieces = {{.silence = 0.2, .text = std::string(last != nullptr ? kRest : kWhole)}}};
}

AgentResult with_status(AgentResult result, int status) {
  result.error->status_code = status;
  return result;
}

// The same end for every attempt, after what was said.
FaultyProvider::Play failing(AgentResult end, std::string said = "") {
  return [=](const backends::Call&, std::size_t) {
    Played played{.end = end};
    if (!said.empty()) played.pieces.push_back({.silence = 0.1, .text = said});
    return played;
  };
}

FaultyProvider::Play at_first(AgentResult end) {
  return [=](const backends::Call& call, std::size_t attempt) {
    return attempt == 1 ? Played{.end = end} : healthy(call, attempt);
  };
}

// Pieces with silences between them, and a good end.
FaultyProvider::Play slow(std::vector<Played::Piece> pieces) {
  return [=](const backends::Call&, std::size_t) { return Played{.pieces = pieces}; };
}

Played refusing_prefill(const backends::Call& call, std::size_t attempt) {
  if (!std::holds_alternative<backends::AssistantMessage>(call.messages.back())) {
    return healthy(call, attempt);
  }
  return {.end = with_status(failure("invalid_request", false), 400)};
}

// Two providers over HTTP with the default policy, and one call.
struct FaultBench {
  asio::io_context loop{1};
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>(loop);
  std::shared_ptr<FaultyProvider> a, b;
  std::shared_ptr<Pools> pools = std::make_shared<Pools>(clock);
  Dispatcher dispatcher;
  std::vector<Choice> chain = {{.backend = "a", .model = "m", .preference = 1},
                               {.backend = "b", .model = "m", .preference = 2}};
  ReceivedText sink{};
  Diary diary{};

  FaultBench(FaultyProvider::Play first, FaultyProvider::Play second, bool continues = true)
      : a(std::make_shared<FaultyProvider>(clock, std::move(first))),
        b(std::make_shared<FaultyProvider>(clock, std::move(second))),
        dispatcher({{"a", source("a", a, continues)}, {"b", source("b", b, continues)}},
                   {.pools = pools, .seed = 7}) {}

  static Source source(const std::string& name, std::shared_ptr<FaultyProvider> backend,
                       bool continues) {
    return {.backend = std::move(backend),
            .pool_of =
                [name](const std::string& model) {
                  return PoolName{.key = name + "/" + model, .provider = name, .model = model};
                },
            .pace = Pace::fast,
            .continues_answers = [continues](const backends::Call&) { return continues; }};
  }

  asio::awaitable<Dispatched> call(bool streams, bool goes_on) {
    backends::Call asked{.model = "", .stream = streams};
    asked.messages.push_back(backends::UserMessage{.parts = {backends::TextPart{"Count."}}});
    co_return co_await dispatcher.run(
        {.chain = chain, .deadline = clock->seconds() + 300, .continues_cuts = goes_on},
        std::move(asked), sink, diary);
  }

  struct Ended {
    Dispatched call;
    Seconds took = 0;
  };
  Ended run(bool streams, bool goes_on = true) {
    const Moment began = clock->seconds();
    auto done = asio::co_spawn(loop, call(streams, goes_on), asio::use_future);
    clock->run();
    return {done.get(), clock->seconds() - began};
  }
};

struct FaultCase {
  std::string_view name;
  FaultyProvider::Play a;
  FaultyProvider::Play b = healthy;
  std::size_t asked_a = 2;  // Streamed.
  std::size_t asked_b = 1;
  std::size_t again_a = 2;  // Unstreamed: nothing has left, so that it may be asked again.
  Seconds least = 0;
  Seconds most = 25;
};

std::vector<FaultCase> fault_cases() {
  const auto rate_limit = [](double retry_after) { return at_first(refused(retry_after)); };
  const AgentResult cut = failure("server_error");
  const std::string begin(kBegin);
  return {
      {.name = "429 with retry-after 2, then healthy",
       .a = rate_limit(2),
       .asked_b = 0,
       .least = 2,
       .most = 2.5},
      {.name = "429 for ever", .a = failing(refused(-1)), .most = 2},
      {.name = "429 that asks for longer than max_wait",
       .a = failing(refused(30)),
       .asked_a = 1,
       .again_a = 1,
       .most = 0.5},
      {.name = "500 once", .a = at_first(with_status(cut, 500)), .asked_b = 0, .most = 1},
      {.name = "503 for ever", .a = failing(with_status(cut, 503)), .most = 1},
      {.name = "reset before headers", .a = failing(cut), .most = 1},
      {.name = "silence for 120 s",
       .a = slow({{.silence = 120, .text = std::string(kWhole)}}),
       .asked_a = 1,
       .again_a = 1,
       .least = 10,
       .most = 11},
      {.name = "first token after 20 s",
       .a = slow({{.silence = 20, .text = "One"}, {.silence = 1, .text = " two."}}),
       .asked_a = 1,
       .again_a = 1,
       .least = 10,
       .most = 11},
      {.name = "cut in the middle", .a = failing(cut, begin), .asked_a = 1, .most = 2},
      {.name = "stall of 30 s in the middle",
       .a = slow({{.text = begin}, {.silence = 30, .text = std::string(kRest)}}),
       .asked_a = 1,
       .again_a = 1,
       .least = 20,
       .most = 21},
      {.name = "a fallback that refuses prefill",
       .a = failing(cut, begin),
       .b = refusing_prefill,
       .asked_a = 1,
       .asked_b = 2,
       .most = 2},
  };
}

}  // namespace

TEST_CASE("the caller has the whole answer within seconds, whatever the first provider does") {
  for (const FaultCase& fault : fault_cases()) {
    for (const bool streams : {true, false}) {
      CAPTURE(fault.name);
      CAPTURE(streams);
      FaultBench bench(fault.a, fault.b);

      const auto ended = bench.run(streams);

      CHECK(!ended.call.result.error);
      CHECK(ended.call.result.content == kWhole);
      CHECK(bench.sink.text == (streams ? kWhole : ""));
      CHECK(ended.took >= fault.least);
      CHECK(ended.took <= fault.most);
      CHECK(bench.a->asked_at.size() == (streams ? fault.asked_a : fault.again_a));
      const bool refuses_prefill = fault.asked_b == 2;
      CHECK(bench.b->asked_at.size() == (streams || !refuses_prefill ? fault.asked_b : 1));
    }
  }
}

TEST_CASE("no provider is asked more than twice in the first 1.5 s") {
  for (const FaultCase& fault : fault_cases()) {
    CAPTURE(fault.name);
    FaultBench bench(fault.a, fault.b);
    bench.run(true);
    for (const auto& provider : {bench.a, bench.b}) {
      const auto& at = provider->asked_at;
      CHECK((at.size() < 3 || at[2] - at[0] > 1.5));
      CHECK(at.size() <= 6);
    }
  }
}

TEST_CASE("with on_cut: fail a cut, a stall and an answer that cannot be read are one error") {
  const AgentResult cut = failure("server_error");
  for (const auto& play :
       {failing(cut, std::string(kBegin)),
        slow({{.text = std::string(kBegin)}, {.silence = 30, .text = std::string(kRest)}})}) {
    FaultBench bench(play, healthy);

    const auto ended = bench.run(true, false);

    CHECK(ended.call.result.error);
    CHECK(bench.sink.text == kBegin);
    CHECK(bench.a->asked_at.size() == 1);
    CHECK(bench.b->asked_at.empty());
    CHECK(ended.took <= 21);
  }
}

TEST_CASE("what every backend would refuse is the error at once") {
  for (const std::string code : {"context_length", "content_filter"}) {
    FaultBench bench(failing(failure(code, false)), healthy);

    const auto ended = bench.run(true);

    CHECK(ended.call.result.error->code == code);
    CHECK(ended.took == 0);
    CHECK(bench.b->asked_at.empty());
  }
}

TEST_CASE("a fallback that does not continue answers has to begin with the text that has left") {
  FaultBench bench(failing(failure("server_error"), std::string(kBegin)), healthy, false);
  CHECK(bench.run(true).call.result.content == kWhole);
  CHECK(bench.sink.text == kWhole);

  FaultBench other(failing(failure("server_error"), std::string(kBegin)),
                   slow({{.text = "One, two, three, four."}}), false);
  const auto ended = other.run(true);
  CHECK(ended.call.result.error);
  CHECK(other.sink.text == kBegin);
}

TEST_CASE("after an outage of 60 s the first provider is used again within 30 s") {
  const Moment began = 1'000;
  FaultBench* bench = nullptr;
  const auto outage = [&](const backends::Call& call, std::size_t attempt) {
    if (bench->clock->seconds() < began + 60) {
      return Played{.end = with_status(failure("server_error"), 503)};
    }
    return healthy(call, attempt);
  };
  FaultBench under_load(outage, healthy);
  bench = &under_load;

  std::optional<Moment> back;
  for (int i = 0; i < 50; ++i) {
    const std::size_t before = under_load.a->asked_at.size();
    under_load.sink.text.clear();
    const auto ended = under_load.run(i % 2 == 0);
    CHECK(ended.call.result.content == kWhole);
    CHECK(ended.took <= 25);
    CHECK(under_load.a->asked_at.size() - before <= 2);
    const bool is_over = under_load.clock->seconds() >= began + 60;
    if (is_over && !back && under_load.b->asked_at.back() < under_load.a->asked_at.back()) {
      back = under_load.a->asked_at.back();
    }
    under_load.clock->pass(2);
  }

  REQUIRE(back);
  CHECK(*back <= began + 90);
}

}  // namespace treaty::testing
