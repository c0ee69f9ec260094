#include "treaty/backends/scripted/script_reader.h"

#include <charconv>

#include "treaty/base/text.h"

namespace treaty::backends {
namespace {

constexpr std::chrono::milliseconds kLongestDelay = std::chrono::hours(1);

std::optional<double> milliseconds_in(std::string_view unit) {
  if (unit.empty() || unit == "ms") return 1;
  if (unit == "s") return 1'000;
  if (unit == "m") return 60'000;
  return std::nullopt;
}

}  // namespace

std::optional<std::chrono::milliseconds> ScriptReader::duration(const yaml::Node& node) {
  const std::string_view text = node.text;
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, number);
  const auto unit = milliseconds_in(trimmed({stop, static_cast<std::size_t>(end - stop)}));
  if (!node.is_scalar() || failure != std::errc() || !unit || !(number >= 0) ||
      number * *unit > static_cast<double>(kLongestDelay.count())) {
    note(node, "expected a duration up to an hour: 250ms, 1.5s, 2m, or a number of milliseconds");
    return std::nullopt;
  }
  return std::chrono::milliseconds(static_cast<std::int64_t>(number * *unit));
}

std::optional<Point> ScriptReader::point(const yaml::Node& node) {
  if (node.kind == yaml::Kind::string && node.text == "head") return Point{.before_head = true};
  if (node.kind == yaml::Kind::integer && node.integer >= 0) {
    return Point{.body_bytes = static_cast<std::size_t>(node.integer)};
  }
  note(node, "expected a number of body bytes, or `head` for before the first byte");
  return std::nullopt;
}

}  // namespace treaty::backends
