// Finds the rate-limit headers of every dialect in one pass over the headers. The table is closed:
// a header that is not in it makes no window.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "treaty/base/headers.h"

namespace treaty::results {

// What the headers say of one window, as they say it; empty where they say nothing.
struct WindowText {
  std::string_view limit{};
  std::string_view remaining{};
  std::string_view reset{};
  std::string_view period{};  // Azure's renewalperiod.
  std::string_view status{};  // Anthropic's unified-status.
};

// The windows in the order in which they are reported.
enum WindowSlot : std::size_t {
  kFirstBucketed = 0,  // Per bucket: requests, then tokens.
  kPlainRequests = 10,
  kPlainTokens,
  kProjectRequests,
  kProjectTokens,
  kInputImages,
  kAnthropicRequests,
  kAnthropicTokens,
  kAnthropicInputTokens,
  kAnthropicOutputTokens,
  kAnthropicUnified,
  kGeneral,   // ratelimit-*
  kXGeneral,  // x-ratelimit-*
  kBySize,    // ratelimitbysize-*
  kWindowSlotCount
};

struct LimitHeaders {
  std::array<WindowText, kWindowSlotCount> windows{};
  std::string_view draft{};         // RateLimit
  std::string_view draft_policy{};  // RateLimit-Policy
  std::string_view retry_after{};
  std::string_view retry_after_ms{};
  std::string_view date{};
};

LimitHeaders find_limit_headers(const Headers& headers);

}  // namespace treaty::results
