// `--fix`: everything in a document that has one repair, applied to the text itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "treaty/contracts/contract.h"

namespace treaty::contracts {

struct Repaired {
  std::string text;
  std::vector<std::string> repairs{};  // "BRS-09 /created_at: created_at has no zone".
};

// All that needs no repair stays as it was written.
Repaired repair_text(Contract contract, std::string_view text, DecodeOptions options);

}  // namespace treaty::contracts
