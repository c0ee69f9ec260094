// A tool continuation checked against the response that waits for it: both documents by their own
// rules, then the matching (TOOL-10 to TOOL-13).
#pragma once

#include <string_view>
#include <vector>

#include "treaty/contracts/decoded.h"
#include "treaty/contracts/tool_matching.h"

namespace treaty::contracts {

struct ContinuationVerdict {
  Verdict pending{};    // Of the response, alone or inside its InvokeResult.
  Verdict submitted{};  // Of the request, with what the matching found.
  std::vector<Difference> differences{};

  bool valid() const { return pending.valid() && submitted.valid(); }
};

ContinuationVerdict check_continuation(std::string_view pending, std::string_view submitted,
                                       const DecodeOptions& options = {});

}  // namespace treaty::contracts
