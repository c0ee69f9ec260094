// An example for every rule of the ledger: one document that passes and one that does not.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/contracts/decoded.h"

namespace treaty::contracts {

struct RuleExample {
  std::string rule;
  std::string contract;  // What it is checked as; "continuation" for the matching of tool results.
  std::string passes;
  std::string fails;
  std::string pending{};  // Of a continuation: the response that waits.
  std::string request{};  // Of a bridge response: the request at hand.
  DecodeOptions options{};
};

// In the order of the ledger.
std::vector<RuleExample> rule_examples();

std::optional<RuleExample> example_of(std::string_view rule);

}  // namespace treaty::contracts
