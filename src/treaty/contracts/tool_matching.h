// AGN-033 §3.3: the results of a submission match the calls that wait exactly, in count, ids and
// order (TOOL-10 to TOOL-12). Pure: ids in, differences out.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "treaty/contracts/rule_ids.h"

namespace treaty::contracts {

struct Difference {
  enum class Kind { missing, unexpected, duplicate, out_of_order };
  Kind kind;
  std::string id;
  std::optional<std::size_t> expected_at{};  // Its place among the calls, if it has one,
  std::optional<std::size_t> got_at{};       // and among the results.
  bool operator==(const Difference&) const = default;
};

struct Matching {
  std::vector<RuleId> broken{};  // Of TOOL-10, TOOL-11, TOOL-12; empty: an exact match.
  std::vector<Difference> differences{};
  std::string first_difference{};  // For the error: expected id and place, got id and place.
};

Matching match_tool_results(std::span<const std::string> expected,
                            std::span<const std::string> got);

std::string_view name_of(Difference::Kind kind);

}  // namespace treaty::contracts
