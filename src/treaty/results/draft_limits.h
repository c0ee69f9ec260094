// The IETF draft's RateLimit and RateLimit-Policy fields: structured lists (RFC 9651) of policies.
//   RateLimit-Policy: "burst";q=10;w=1, "daily";q=1000;w=86400
//   RateLimit: "burst";r=0;t=1, "daily";r=900;t=3600
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/base/number.h"

namespace treaty::results {

struct DraftWindow {
  std::string name;
  std::optional<Number> remaining{};
  std::optional<Number> limit{};
  std::optional<std::int64_t> resets_in{};
};

// The limits in their order, then the policies that no limit names. What cannot be read ends a
// list.
std::vector<DraftWindow> parse_draft_windows(std::string_view limit, std::string_view policy);

}  // namespace treaty::results
