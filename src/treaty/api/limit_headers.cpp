#include "treaty/api/limit_headers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace treaty::api {
namespace {

using dispatch::LimitLine;

constexpr std::size_t kMostLimits = 8;
constexpr std::size_t kLongestName = 64;

// A String of structured fields has printable ASCII; a provider's name may have anything.
std::string quoted_name(std::string_view name) {
  std::string out = "\"";
  for (const char c : name.substr(0, kLongestName)) {
    if (c < ' ' || c > '~') {
      out += '?';
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

// An Integer of structured fields has fifteen digits.
std::int64_t integer_of(double whole) {
  constexpr double kMost = 999'999'999'999'999;
  return std::isnan(whole) ? 0 : static_cast<std::int64_t>(std::clamp(whole, 0.0, kMost));
}

// Each name once, as it is written: two limits of one name would contradict each other.
struct NamedLimit {
  std::string name;
  const LimitLine& limit;
};

std::vector<NamedLimit> named(std::span<const LimitLine> limits) {
  std::vector<NamedLimit> out;
  for (const LimitLine& limit : limits) {
    if (out.size() == kMostLimits) break;
    std::string name = quoted_name(limit.name);
    const bool is_there =
        std::ranges::any_of(out, [&](const NamedLimit& one) { return one.name == name; });
    if (!is_there) out.push_back({std::move(name), limit});
  }
  return out;
}

void append(std::string& field, const std::string& item) {
  if (!field.empty()) field += ", ";
  field += item;
}

}  // namespace

std::string rate_limit_field(std::span<const LimitLine> limits) {
  std::string field;
  for (const auto& [name, limit] : named(limits)) {
    append(field, fmt::format("{};r={};t={}", name, integer_of(std::floor(limit.remaining)),
                              integer_of(std::ceil(limit.resets_in))));
  }
  return field;
}

std::string rate_limit_policy_field(std::span<const LimitLine> limits) {
  std::string field;
  for (const auto& [name, limit] : named(limits)) {
    if (!limit.quota) continue;
    std::string item = fmt::format("{};q={}", name, integer_of(std::floor(*limit.quota)));
    if (limit.window > 0) item += fmt::format(";w={}", integer_of(std::ceil(limit.window)));
    append(field, item);
  }
  return field;
}

void add_limit_headers(http::Response& response, std::span<const LimitLine> limits) {
  if (const std::string field = rate_limit_field(limits); !field.empty()) {
    response.headers.set("ratelimit", field);
  }
  if (const std::string field = rate_limit_policy_field(limits); !field.empty()) {
    response.headers.set("ratelimit-policy", field);
  }
}

}  // namespace treaty::api
