#include <doctest/doctest.h>
#include <unistd.h>

#include <array>

#include "treaty/cli/shared/conversation.h"

namespace treaty::cli {
namespace {

// What comes of it when `text` is typed.
ToolReply typed(std::string_view text) {
  Signals signals{SIGUSR1};
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  REQUIRE(write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  close(ends[1]);
  LineInput input(ends[0], signals);
  ToolReply reply = ask_result(input, {"c1", "look", "{}"});
  close(ends[0]);
  return reply;
}

}  // namespace

TEST_CASE("what is typed is the result: JSON as it is, any other text as a string") {
  CHECK(typed(R"({"a": 1})") == ClientToolOutcome(contracts::ResultJson{R"({"a": 1})"}));
  CHECK(typed("two words\n") == ClientToolOutcome(contracts::ResultJson{R"("two words")"}));
  CHECK(std::holds_alternative<contracts::ErrorMessage>(*typed("\n")));
  CHECK(std::holds_alternative<contracts::ErrorMessage>(*typed("\xff\n")));
}

TEST_CASE("/cancel gives the turn up, the end of the input leaves it") {
  CHECK(typed(" /cancel \n") == std::unexpected(Unanswered::cancelled));
  CHECK(typed("") == std::unexpected(Unanswered::left));
}

}  // namespace treaty::cli
