#include "treaty/contracts/repair.h"

#include <fmt/format.h>

#include <set>

#include "treaty/contracts/inspection/edits.h"
#include "treaty/contracts/text/handwritten_json.h"

namespace treaty::contracts {
namespace {

// The files of the bridge are written by hand and by models; all other documents by programs.
bool is_handwritten(Contract contract) {
  return contract == Contract::bridge_request || contract == Contract::bridge_response;
}

}  // namespace

Repaired repair_text(Contract contract, std::string_view text, DecodeOptions options) {
  options.profile = Profile::mending;
  Repaired repaired{std::string(text)};
  if (is_handwritten(contract) && text.size() <= options.max_size) {
    HandwrittenJson json = rewrite_as_json(text);
    repaired = {std::move(json.text), std::move(json.repairs)};
  }
  std::set<std::string> reported;
  // A round makes the repairs that do not touch each other; what one uncovers, the next mends.
  constexpr int kMostRounds = 100;
  for (int round = 0; round < kMostRounds; ++round) {
    const Verdict verdict = check(contract, repaired.text, options);
    if (verdict.edits.empty()) break;
    std::string next = apply_edits(repaired.text, verdict.edits);
    if (next == repaired.text) break;
    repaired.text = std::move(next);
    for (const Finding& warning : verdict.warnings) {
      if (!warning.repaired) continue;
      std::string line =
          fmt::format("{} {}: {}", warning.rule.text(),
                      warning.where.empty() ? "(document)" : warning.where, warning.message);
      if (reported.insert(line).second) repaired.repairs.push_back(std::move(line));
    }
  }
  return repaired;
}

}  // namespace treaty::contracts
