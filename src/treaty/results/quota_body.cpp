#include "treaty/results/quota_body.h"

#include "treaty/base/text.h"

namespace treaty::results {
namespace {

using contracts::RateLimitWindow;

constexpr std::size_t kMostQuotaWindows = 32;

std::optional<Number> quota_value(json::Value violation) {
  const auto value = json::find_member(violation, "quotaValue");
  if (!value || !(value->is_string() || value->is_number())) return std::nullopt;
  const std::string_view digits = value->is_string() ? trimmed(value->text()) : value->source();
  return parse_count(digits);
}

// `GenerateContentPaidTierInputTokensPerModelPerMinute` → tokens_per_minute.
std::optional<RateLimitWindow> window_of(json::Value violation) {
  const auto id = json::find_member(violation, "quotaId");
  if (!id || !id->is_string()) return std::nullopt;
  const bool per_minute = id->text().contains("PerMinute");
  if (!per_minute && !id->text().contains("PerDay")) return std::nullopt;
  const std::string resource = id->text().contains("Tokens") ? "tokens" : "requests";
  return RateLimitWindow{.name = resource + (per_minute ? "_per_minute" : "_per_day"),
                         .resource = resource,
                         .remaining = Number(0),
                         .limit = quota_value(violation)};
}

bool is_type(json::Value detail, std::string_view name) {
  const auto type = json::find_member(detail, "@type");
  return type && type->is_string() && type->text().ends_with(name);
}

}  // namespace

QuotaFailure read_quota(const ErrorBody& body) {
  QuotaFailure quota;
  const auto details = json::find_member(body.error(), "details");
  if (!details || !details->is_array()) return quota;
  for (const json::Value detail : details->elements()) {
    if (is_type(detail, "google.rpc.RetryInfo")) {
      const auto delay = json::find_member(detail, "retryDelay");
      if (delay && delay->is_string()) quota.retry_delay = parse_duration(delay->text());
    }
    const auto violations = json::find_member(detail, "violations");
    if (!is_type(detail, "google.rpc.QuotaFailure") || !violations || !violations->is_array()) {
      continue;
    }
    for (const json::Value violation : violations->elements()) {
      if (quota.windows.size() == kMostQuotaWindows) break;
      if (auto window = window_of(violation)) quota.windows.push_back(std::move(*window));
    }
  }
  return quota;
}

}  // namespace treaty::results
