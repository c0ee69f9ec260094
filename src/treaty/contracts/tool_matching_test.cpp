#include "treaty/contracts/tool_matching.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

using namespace treaty::contracts;

namespace {

using Ids = std::vector<std::string>;

std::set<std::string> broken_by(const Matching& matching) {
  std::set<std::string> rules;
  for (const RuleId rule : matching.broken) rules.emplace(rule.text());
  return rules;
}

std::set<std::string> kinds_of(const Matching& matching) {
  std::set<std::string> kinds;
  for (const Difference& difference : matching.differences) {
    kinds.insert(std::string(name_of(difference.kind)) + " " + difference.id);
  }
  return kinds;
}

}  // namespace

TEST_CASE("AGN-033 §3.3: the same ids in the same order match") {
  const Matching matching = match_tool_results(Ids{"a", "b"}, Ids{"a", "b"});

  CHECK(matching.broken.empty());
  CHECK(matching.differences.empty());
}

TEST_CASE("AGN-033 §3.3: every permutation, omission and addition but the exact one is refused") {
  const Ids calls = {"a", "b", "c", "d"};
  Ids order = calls;
  while (std::ranges::next_permutation(order).found) {
    CHECK(broken_by(match_tool_results(calls, order)) == std::set<std::string>{"TOOL-12"});
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Ids fewer = calls;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    CHECK(broken_by(match_tool_results(calls, fewer)) ==
          std::set<std::string>{"TOOL-10", "TOOL-11"});
    Ids more = calls;
    more.insert(more.begin() + static_cast<std::ptrdiff_t>(i), "x");
    CHECK(broken_by(match_tool_results(calls, more)) ==
          std::set<std::string>{"TOOL-10", "TOOL-11"});
  }
}

TEST_CASE("each difference is told by kind and id, and the first one by its place") {
  const Matching matching = match_tool_results(Ids{"a", "b", "c"}, Ids{"x", "c", "a", "a"});

  CHECK(kinds_of(matching) ==
        std::set<std::string>{"missing b", "unexpected x", "duplicate a", "out_of_order c"});
  CHECK(broken_by(matching) == std::set<std::string>{"TOOL-10", "TOOL-11", "TOOL-12"});
  CHECK(matching.first_difference ==
        "at index 0 (counting from 0) \"ToolCallId\" should be \"a\", got \"x\"");
}

TEST_CASE("a list that ends early misses what follows") {
  CHECK(match_tool_results(Ids{"a", "b"}, Ids{"a"}).first_difference ==
        "at index 1 (counting from 0) \"ToolCallId\" should be \"b\", got nothing");
}
