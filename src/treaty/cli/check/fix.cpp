#include "treaty/cli/check/fix.h"

#include <fmt/format.h>

#include <set>

#include "treaty/contracts/inspection/edits.h"

namespace treaty::cli {
Repaired repair_text(contracts::Contract contract, std::string_view text,
                     contracts::DecodeOptions options) {
  options.profile = contracts::Profile::lenient;
  Repaired repaired{std::string(text)};
  std::set<std::string> told;
  // A round makes the repairs that do not touch each other; what one uncovers, the next mends.
  constexpr int kMostRounds = 100;
  for (int round = 0; round < kMostRounds; ++round) {
    const contracts::Verdict verdict = contracts::check(contract, repaired.text, options);
    if (verdict.edits.empty()) break;
    std::string next = contracts::apply_edits(repaired.text, verdict.edits);
    if (next == repaired.text) break;
    repaired.text = std::move(next);
    for (const contracts::Finding& warning : verdict.warnings) {
      if (!warning.repaired) continue;
      std::string line =
          fmt::format("{} {}: {}", warning.rule.text(),
                      warning.where.empty() ? "(document)" : warning.where, warning.message);
      if (told.insert(line).second) repaired.repairs.push_back(std::move(line));
    }
  }
  return repaired;
}

}  // namespace treaty::cli
