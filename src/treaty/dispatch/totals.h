// Usage and cost of all attempts of a call: those of failed ones count, too.
#pragma once

#include <cstdint>
#include <optional>

#include "treaty/contracts/agent_result.h"

namespace treaty::dispatch {

class Totals {
 public:
  void add(const contracts::AgentResult& attempt);

  // Usage and cost of all that were added. A usage that nobody told stays absent.
  void give_to(contracts::AgentResult& last) const;

 private:
  std::int64_t calls_ = 0;  // Of providers: an attempt may say that it made several.
  std::optional<contracts::UsageInfo> usage_{};
  std::optional<double> cost_{};
};

}  // namespace treaty::dispatch
