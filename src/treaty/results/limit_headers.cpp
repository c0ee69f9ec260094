#include "treaty/results/limit_headers.h"

#include <utility>

namespace treaty::results {
namespace {

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::string_view* field_of(WindowText& window, std::string_view name) {
  if (name == "limit") return &window.limit;
  if (name == "remaining") return &window.remaining;
  if (name == "reset") return &window.reset;
  if (name == "renewalperiod") return &window.period;
  return nullptr;
}

constexpr std::array<std::string_view, 5> kBuckets = {"10-second", "minute", "hour", "day",
                                                      "month"};

// `requests-minute` or `tokens-10-second`.
std::size_t bucketed_slot(std::string_view name) {
  std::size_t resource = 0;
  if (take(name, "tokens-")) {
    resource = 1;
  } else if (!take(name, "requests-") && !take(name, "req-")) {
    return kWindowSlotCount;
  }
  for (std::size_t i = 0; i < kBuckets.size(); ++i) {
    if (name == kBuckets[i]) return kFirstBucketed + 2 * i + resource;
  }
  return kWindowSlotCount;
}

std::size_t plain_slot(std::string_view name) {
  if (name == "requests") return kPlainRequests;
  if (name == "tokens") return kPlainTokens;
  if (name == "project-requests") return kProjectRequests;
  if (name == "project-tokens") return kProjectTokens;
  if (name == "input-images") return kInputImages;
  return kWindowSlotCount;
}

void put(std::string_view& slot, std::string_view value) {
  if (slot.empty()) slot = value;
}

// x-ratelimit-FIELD or x-ratelimit-FIELD-NAME.
void read_x(LimitHeaders& found, std::string_view name, std::string_view value) {
  const std::size_t dash = name.find('-');
  const std::string_view field = name.substr(0, dash);
  std::size_t slot = kXGeneral;
  if (dash != std::string_view::npos) {
    slot = plain_slot(name.substr(dash + 1));
    if (slot == kWindowSlotCount) slot = bucketed_slot(name.substr(dash + 1));
    if (slot == kWindowSlotCount) return;
  }
  if (std::string_view* text = field_of(found.windows[slot], field)) put(*text, value);
}

// anthropic-ratelimit-NAME-FIELD.
void read_anthropic(LimitHeaders& found, std::string_view name, std::string_view value) {
  constexpr std::array<std::pair<std::string_view, WindowSlot>, 5> kNames = {{
      {"requests-", kAnthropicRequests},
      {"tokens-", kAnthropicTokens},
      {"input-tokens-", kAnthropicInputTokens},
      {"output-tokens-", kAnthropicOutputTokens},
      {"unified-", kAnthropicUnified},
  }};
  for (const auto& [prefix, slot] : kNames) {
    if (!take(name, prefix)) continue;
    WindowText& window = found.windows[slot];
    if (slot == kAnthropicUnified && name == "status") put(window.status, value);
    if (std::string_view* text = field_of(window, name)) put(*text, value);
    return;
  }
}

void read_general(LimitHeaders& found, std::string_view name, std::string_view value) {
  if (name.empty()) return put(found.draft, value);
  if (name == "-policy") return put(found.draft_policy, value);
  const WindowSlot slot = take(name, "bysize-") ? kBySize : kGeneral;
  if (slot == kGeneral && !take(name, "-")) return;
  if (std::string_view* text = field_of(found.windows[slot], name)) put(*text, value);
}

}  // namespace

LimitHeaders find_limit_headers(const Headers& headers) {
  LimitHeaders found;
  for (const auto& [name, value] : headers) {
    std::string_view rest = name;
    if (take(rest, "x-ratelimit-")) {
      read_x(found, rest, value);
    } else if (take(rest, "anthropic-ratelimit-")) {
      read_anthropic(found, rest, value);
    } else if (take(rest, "ratelimit")) {
      read_general(found, rest, value);
    } else if (name == "retry-after") {
      found.retry_after = value;
    } else if (name == "retry-after-ms") {
      found.retry_after_ms = value;
    } else if (name == "date") {
      found.date = value;
    }
  }
  return found;
}

}  // namespace treaty::results
