#include "treaty/turns/history.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <deque>
#include <ranges>

namespace treaty::turns {
namespace {

using backends::AssistantMessage;
using backends::ImagePart;
using backends::TextPart;
using backends::UserMessage;

std::shared_ptr<const PastTurn> turn_of(const std::string& text, std::size_t tokens) {
  auto turn = std::make_shared<PastTurn>();
  turn->messages = {UserMessage{{TextPart{text}}}};
  turn->tokens = tokens;
  turn->memory = 10;
  return turn;
}

std::string text_of(const PastTurn& turn) {
  const auto& message = std::get<UserMessage>(turn.messages.front());
  return std::get<TextPart>(message.parts.front()).text;
}

std::vector<std::string> texts_of(const History& history) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < history.size(); ++i) texts.push_back(text_of(history[i]));
  return texts;
}

// A history of one turn with a picture of so many bytes.
std::shared_ptr<const History> with_picture(std::size_t bytes, std::int64_t until = 1) {
  auto history = std::make_shared<History>();
  history->append(past_turn({UserMessage{{ImagePart{"image/png", std::string(bytes, 'A')}}}}),
                  128'000);
  history->until = until;
  return history;
}

constexpr std::size_t kMiB = std::size_t{1} << 20U;

}  // namespace

TEST_CASE("A history is the newest turns that fit, in their order, however many there were") {
  CHECK(rc::check([] {
    const std::size_t most = *rc::gen::inRange<std::size_t>(1, 400);
    const auto sizes =
        *rc::gen::container<std::vector<std::size_t>>(300, rc::gen::inRange<std::size_t>(0, 12));
    History history;
    std::deque<std::pair<std::string, std::size_t>> expected;
    std::size_t tokens = 0;
    bool dropped = false;

    for (std::size_t i = 0; i < sizes.size(); ++i) {
      history.append(turn_of(std::to_string(i), sizes[i]), most);
      expected.emplace_back(std::to_string(i), sizes[i]);
      tokens += sizes[i];
      for (; tokens > most && expected.size() > 1; expected.pop_front(), dropped = true) {
        tokens -= expected.front().second;
      }
      RC_ASSERT(history.size() == expected.size());
      RC_ASSERT(history.tokens() == tokens);
      RC_ASSERT(history.has_more() == dropped);
      RC_ASSERT(history.memory() >= 10 * history.size());
      RC_ASSERT(history.memory() < 10 * (history.size() + 32));
    }

    for (std::size_t i = 0; i < expected.size(); ++i) {
      RC_ASSERT(text_of(history[i]) == expected[i].first);
    }
  }));
}

TEST_CASE("A history that is read backwards is the one that grew turn by turn") {
  rc::check([] {
    const std::size_t most = *rc::gen::inRange<std::size_t>(1, 200);
    const auto sizes =
        *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, 60));
    std::vector<std::shared_ptr<const PastTurn>> turns;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      turns.push_back(turn_of(std::to_string(i), sizes[i]));
    }
    History grown;
    for (const auto& turn : turns) grown.append(turn, most);

    HistoryReading reading(most);
    for (const auto& turn : turns | std::views::reverse) {
      if (!reading.add(turn)) break;
    }
    const History read = reading.history();

    RC_ASSERT(texts_of(read) == texts_of(grown));
    RC_ASSERT(read.tokens() == grown.tokens());
    RC_ASSERT(read.has_more() == grown.has_more());
  });
}

TEST_CASE("A copy of a history goes on by itself") {
  History first;
  for (int i = 0; i < 40; ++i) first.append(turn_of(std::to_string(i), 1), 100);
  History second = first;

  second.append(turn_of("more", 1), 3);

  CHECK(first.size() == 40);
  CHECK(text_of(first[39]) == "39");
  CHECK(texts_of(second) == std::vector<std::string>{"38", "39", "more"});
}

TEST_CASE("Thoughts that were refused are dropped from a copy, and only those of that author") {
  const auto thinking = [](const std::string& author) {
    AssistantMessage said{.text = author};
    said.thoughts = {.author = author, .parts = {{.json = "{}"}}, .lasting = true};
    return past_turn({said});
  };
  History history;
  for (int i = 0; i < 40; ++i) history.append(thinking(i % 2 == 0 ? "a" : "b"), 1'000'000);
  history.until = 7;

  const History without = history.without_thoughts_of("a");

  REQUIRE(without.size() == 40);
  CHECK(without.until == 7);
  for (std::size_t i = 0; i < without.size(); ++i) {
    const auto& said = std::get<AssistantMessage>(without[i].messages[0]);
    CHECK(said.text == (i % 2 == 0 ? "a" : "b"));
    CHECK(said.thoughts.parts.empty() == (i % 2 == 0));
    CHECK(!std::get<AssistantMessage>(history[i].messages[0]).thoughts.parts.empty());
  }
}

TEST_CASE("A picture takes little of a model's context and all of its bytes in memory") {
  const auto history = with_picture(4 * kMiB);

  CHECK(history->tokens() < 5'000);
  CHECK(history->memory() >= 4 * kMiB);
  CHECK(history->memory() < 5 * kMiB);
}

TEST_CASE("The cache keeps its bound in bytes, and the least recently used history goes first") {
  HistoryCache cache(10 * kMiB);
  cache.put(1, with_picture(4 * kMiB));
  cache.put(2, with_picture(4 * kMiB));
  REQUIRE(cache.find(1, 1, 100));

  cache.put(3, with_picture(4 * kMiB));

  CHECK(cache.find(1, 1, 100));
  CHECK(!cache.find(2, 1, 100));
  CHECK(cache.find(3, 1, 100));
  for (std::int64_t session = 4; session < 300; ++session) {
    cache.put(session, with_picture(4 * kMiB));
    REQUIRE(cache.bytes() <= 10 * kMiB);
  }
}

TEST_CASE("A history that is larger than the cache is not kept, nor is the one before it") {
  HistoryCache cache(kMiB);
  cache.put(1, with_picture(1'000, 1));

  cache.put(1, with_picture(2 * kMiB, 2));

  CHECK(!cache.find(1, 1, 100));
  CHECK(!cache.find(1, 2, 100));
  CHECK(cache.bytes() == 0);
}

TEST_CASE("A history that was cut is not taken for a longer one") {
  HistoryCache cache(kMiB);
  auto cut = std::make_shared<History>();
  for (const char* text : {"one", "two", "three"}) cut->append(turn_of(text, 10), 20);
  cut->until = 3;
  cache.put(1, cut);

  CHECK(cache.find(1, 3, 20));
  CHECK(cache.find(1, 3, 10));
  CHECK(!cache.find(1, 3, 30));

  auto whole = std::make_shared<History>();
  whole->append(turn_of("one", 10), 20);
  whole->until = 1;
  cache.put(2, whole);
  CHECK(cache.find(2, 1, 1'000));
}

}  // namespace treaty::turns
