// Fuzzes the reader of rate limits. The first byte chooses status, profile and dialect; then come
// header lines, a blank line and a body.
#include <algorithm>
#include <string>

#include "require.h"
#include "treaty/base/text.h"
#include "treaty/contracts/decode_agent_result.h"
#include "treaty/results/limits.h"

using namespace treaty;           // NOLINT: a target is one file.
using namespace treaty::results;  // NOLINT
using fuzz::require;

namespace {

constexpr int kStatuses[] = {200, 400, 429, 529};
constexpr std::size_t kMostWindows = 23 + 32 + 32;  // Of headers, draft fields, bodies.

// NAME: VALUE lines up to a blank one; gives the rest back.
std::string_view read_lines(Headers& headers, std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Line line = line_at(text, at);
    at = line.next;
    if (line.text.empty()) return text.substr(std::min(at, text.size()));
    const std::size_t colon = line.text.find(':');
    if (colon != std::string_view::npos) {
      headers.add(line.text.substr(0, colon), line.text.substr(colon + 1));
    }
  }
  return {};
}

void check_windows(const contracts::RateLimitState& state) {
  require(state.windows.size() <= kMostWindows);
  for (const auto& window : state.windows) {
    require(window.remaining || window.limit);
    require(!window.remaining || window.remaining->is_whole());
    require(!window.resets_in || (window.resets_in->is_whole() && window.resets_in->whole() >= 0));
    require(std::ranges::count(state.windows, window.name, &contracts::RateLimitWindow::name) == 1);
    require(state.limited || window.remaining != Number(0));
  }
  require(!state.retry_after || state.retry_after->value() >= 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::uint8_t choice = data[0];
  Headers headers;
  const std::string_view body = read_lines(headers, fuzz::as_text(data, size).substr(1));
  LimitsInput input{
      .headers = headers,
      .status = kStatuses[choice & 3U],
      .body = body,
      .plain = (choice & 4U) != 0 ? PlainLimits::day_requests_minute_tokens : PlainLimits::unnamed};
  if ((choice & 8U) != 0) input.now = 1'767'225'600;
  if ((choice & 16U) != 0) input.status.reset();
  contracts::AgentResult result;
  result.rate_limit = read_rate_limits(input);
  check_windows(*result.rate_limit);
  const auto decoded = contracts::decode_agent_result(contracts::encode(result));
  require(static_cast<bool>(decoded) && decoded.warnings().empty());
  require(decoded->rate_limit == result.rate_limit);
  const auto compat = read_rate_limits(input, LimitsProfile::compat);
  require(is_utf8(contracts::encode(compat)));
  return 0;
}
