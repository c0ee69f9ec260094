#include "treaty/turns/history.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <deque>

namespace treaty::turns {
namespace {

std::shared_ptr<const PastTurn> turn_of(const std::string& text, std::size_t tokens) {
  return std::make_shared<PastTurn>(
      std::vector<backends::Message>{backends::UserMessage{{backends::TextPart{text}}}}, tokens);
}

std::string text_of(const PastTurn& turn) {
  const auto& message = std::get<backends::UserMessage>(turn.messages.front());
  return std::get<backends::TextPart>(message.parts.front()).text;
}

}  // namespace

TEST_CASE("A history is the newest turns that fit, in their order, however many there were") {
  rc::check([] {
    const std::size_t most = *rc::gen::inRange<std::size_t>(1, 400);
    const auto sizes =
        *rc::gen::container<std::vector<std::size_t>>(300, rc::gen::inRange<std::size_t>(0, 12));
    History history;
    std::deque<std::pair<std::string, std::size_t>> expected;
    std::size_t tokens = 0;
    bool dropped = false;

    for (std::size_t i = 0; i < sizes.size(); ++i) {
      history.append(turn_of(std::to_string(i), sizes[i]));
      history.fit_into(most);
      expected.emplace_back(std::to_string(i), sizes[i]);
      tokens += sizes[i];
      for (; tokens > most && expected.size() > 1; expected.pop_front(), dropped = true) {
        tokens -= expected.front().second;
      }
      RC_ASSERT(history.size() == expected.size());
      RC_ASSERT(history.tokens() == tokens);
      RC_ASSERT(history.has_more == dropped);
    }

    for (std::size_t i = 0; i < expected.size(); ++i) {
      RC_ASSERT(text_of(history[i]) == expected[i].first);
    }
  });
}

TEST_CASE("A copy of a history goes on by itself") {
  History first;
  for (int i = 0; i < 40; ++i) first.append(turn_of(std::to_string(i), 1));
  History second = first;

  second.append(turn_of("more", 1));
  second.fit_into(3);

  CHECK(first.size() == 40);
  CHECK(text_of(first[39]) == "39");
  REQUIRE(second.size() == 3);
  CHECK(text_of(second[0]) == "38");
  CHECK(text_of(second[2]) == "more");
}

}  // namespace treaty::turns
