#include "treaty/contracts/tool_matching.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace treaty::contracts {
namespace {

using Places = std::unordered_map<std::string_view, std::size_t>;  // An id's first place.

Places first_places(std::span<const std::string> ids) {
  Places places;
  for (std::size_t i = 0; i < ids.size(); ++i) places.emplace(ids[i], i);
  return places;
}

// Of the ids that both lists have: the first one that comes too early in `got`.
std::optional<Difference> first_out_of_order(std::span<const std::string> expected,
                                             const Places& expected_at, const Places& got_at) {
  std::optional<std::size_t> last;
  for (const std::string& id : expected) {
    const auto found = got_at.find(id);
    if (found == got_at.end()) continue;
    if (last && found->second < *last) {
      return Difference{.kind = Difference::Kind::out_of_order,
                        .id = id,
                        .expected_at = expected_at.at(id),
                        .got_at = found->second};
    }
    last = std::max(last.value_or(0), found->second);
  }
  return std::nullopt;
}

std::string describe_first(std::span<const std::string> expected,
                           std::span<const std::string> got) {
  const auto [left, right] = std::ranges::mismatch(expected, got);
  const auto place = left - expected.begin();
  const auto shown = [](auto at, auto end) {
    return at == end ? std::string("nothing") : fmt::format("\"{}\"", *at);
  };
  return fmt::format("at index {} (counting from 0) \"ToolCallId\" should be {}, got {}", place,
                     shown(left, expected.end()), shown(right, got.end()));
}

}  // namespace

std::string_view name_of(Difference::Kind kind) {
  switch (kind) {
    case Difference::Kind::missing: return "missing";
    case Difference::Kind::unexpected: return "unexpected";
    case Difference::Kind::duplicate: return "duplicate";
    case Difference::Kind::out_of_order: return "out_of_order";
  }
  return "";
}

Matching match_tool_results(std::span<const std::string> expected,
                            std::span<const std::string> got) {
  Matching matching;
  if (std::ranges::equal(expected, got)) return matching;
  const Places expected_at = first_places(expected);
  const Places got_at = first_places(got);
  bool other_ids = false;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (got_at.contains(expected[i]) || expected_at.at(expected[i]) != i) continue;
    matching.differences.push_back(
        {.kind = Difference::Kind::missing, .id = expected[i], .expected_at = i});
    other_ids = true;
  }
  Places told;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto found = expected_at.find(got[i]);
    const bool known = found != expected_at.end();
    const bool repeated = got_at.at(got[i]) != i;
    if ((known && !repeated) || (repeated && !told.emplace(got[i], i).second)) continue;
    if (!known && !repeated) other_ids = true;
    matching.differences.push_back(
        {.kind = repeated ? Difference::Kind::duplicate : Difference::Kind::unexpected,
         .id = got[i],
         .expected_at = known ? std::optional(found->second) : std::nullopt,
         .got_at = i});
  }
  const auto disorder = first_out_of_order(expected, expected_at, got_at);
  if (disorder) matching.differences.push_back(*disorder);
  if (expected.size() != got.size()) matching.broken.push_back("TOOL-10");
  if (other_ids) matching.broken.push_back("TOOL-11");
  if (disorder) matching.broken.push_back("TOOL-12");
  // Only calls that share an id among themselves can come this far without a difference.
  if (matching.broken.empty()) matching.broken.push_back("TOOL-11");
  matching.first_difference = describe_first(expected, got);
  return matching;
}

}  // namespace treaty::contracts
