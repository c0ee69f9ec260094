// Fuzzes the classification of failed answers. The first byte chooses the status, the second
// whether a key is known; the rest is the body.
#include <algorithm>
#include <array>
#include <string>

#include "require.h"
#include "treaty/base/text.h"
#include "treaty/contracts/decode_agent_result.h"
#include "treaty/results/error_body.h"
#include "treaty/results/errors.h"

using namespace treaty;           // NOLINT: a target is one file.
using namespace treaty::results;  // NOLINT
using fuzz::require;

namespace {

constexpr std::array<std::string_view, 8> kCodes = {
    "rate_limit", "timeout",        "server_error",   "invalid_request",
    "auth_error", "content_filter", "context_length", "model_unavailable"};
constexpr std::array kStatuses = {0,   200, 302, 400, 401, 402, 403, 404,
                                  408, 413, 429, 500, 503, 529, 599, 999};
constexpr std::string_view kSecret = "hunter22";  // As short as a known secret may be.

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const int status = kStatuses[data[0] & 15U];
  const std::string_view body = fuzz::as_text(data, size).substr(2);
  const bool known = (data[1] & 1U) != 0;
  const Headers headers;
  ErrorEvidence evidence{.headers = headers, .body = body};
  if (status != 0) evidence.status = status;
  if (known) evidence.known_secret = kSecret;

  contracts::AgentResult result;
  result.error = classify_error(evidence);

  require(std::ranges::find(kCodes, *result.error->code) != kCodes.end());
  require(!is_blank(result.error->message) && is_utf8(result.error->message));
  require(!known || !result.error->message.contains(kSecret));
  require(!result.error->type || (!is_blank(*result.error->type) && is_utf8(*result.error->type)));
  require(!has_control_character(result.error->message) || result.error->message.contains("\xC2"));
  require(status < 400 || status > 599 || result.error->status_code == status);
  const auto decoded = contracts::decode_agent_result(contracts::encode(result));
  require(static_cast<bool>(decoded) && decoded->error == result.error);
  return 0;
}
