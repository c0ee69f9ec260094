// Fuzzes the reader of times: whatever the text, a length is neither negative nor endless, and
// white space around it means nothing.
#include <cmath>
#include <string>

#include "require.h"
#include "treaty/base/timestamp.h"
#include "treaty/results/reset_time.h"

using namespace treaty;           // NOLINT: a target is one file.
using namespace treaty::results;  // NOLINT
using fuzz::require;

namespace {

void check(const Duration& duration) {
  require(duration.seconds >= 0 && duration.seconds <= Duration::kLongest);
  require(duration.nanoseconds >= 0 && duration.nanoseconds < Duration::kNanoseconds);
  require(duration.rounded_up() >= 0 && duration.rounded_up() <= Duration::kLongest);
  require(duration.value() >= 0 && duration.value() <= static_cast<double>(Duration::kLongest));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  if (const auto duration = parse_duration(text)) {
    check(*duration);
    require(parse_duration(" " + std::string(text) + "\t") == duration);
    // What is a duration as a whole is one where it leads, too.
    if (!text.empty() && text.front() > ' ') require(leading_duration(text).has_value());
  }
  if (const auto duration = leading_duration(text)) check(*duration);
  if (const auto reset = parse_reset_time(text)) {
    require(reset->after.has_value() != reset->at.has_value());
    if (reset->after) check(*reset->after);
    if (reset->at) require(std::isfinite(*reset->at) && std::abs(*reset->at) < 1e15);
  }
  if (const auto date = seconds_of_http_date(text)) require(std::isfinite(*date));
  return 0;
}
