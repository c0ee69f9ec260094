#include "treaty/backends/scripted/script_reader.h"

#include <fmt/format.h>

#include <charconv>
#include <tuple>

#include "treaty/base/text.h"

namespace treaty::backends {
namespace {

constexpr std::chrono::milliseconds kLongestDelay = std::chrono::hours(1);

std::string_view kind_name(yaml::Kind kind) {
  switch (kind) {
    case yaml::Kind::null: return "nothing";
    case yaml::Kind::boolean: return "true or false";
    case yaml::Kind::integer:
    case yaml::Kind::decimal: return "a number";
    case yaml::Kind::string: return "a text";
    case yaml::Kind::list: return "a list";
    case yaml::Kind::map: return "a map";
  }
  return "something else";
}

std::optional<double> milliseconds_in(std::string_view unit) {
  if (unit.empty() || unit == "ms") return 1;
  if (unit == "s") return 1'000;
  if (unit == "m") return 60'000;
  return std::nullopt;
}

}  // namespace

void ScriptReader::note(const yaml::Node& node, std::string message) {
  problems_.push_back({node.line, node.column, std::move(message)});
}

std::vector<ScriptProblem> ScriptReader::take_problems() {
  std::ranges::sort(problems_, {}, [](const ScriptProblem& problem) {
    return std::tie(problem.line, problem.column, problem.message);
  });
  return std::move(problems_);
}

std::optional<std::string> ScriptReader::text(const yaml::Node& node) {
  if (node.is_scalar() && node.kind != yaml::Kind::null) return node.text;
  note(node, fmt::format("expected a text, found {}", kind_name(node.kind)));
  return std::nullopt;
}

std::optional<std::int64_t> ScriptReader::integer(const yaml::Node& node, std::int64_t least,
                                                  std::int64_t most) {
  if (node.kind == yaml::Kind::integer && node.integer >= least && node.integer <= most) {
    return node.integer;
  }
  const std::string bounds = most == std::numeric_limits<std::int64_t>::max()
                                 ? fmt::format("{} or more", least)
                                 : fmt::format("{} to {}", least, most);
  note(node, fmt::format("expected a whole number, {}", bounds));
  return std::nullopt;
}

std::optional<bool> ScriptReader::boolean(const yaml::Node& node) {
  if (node.kind == yaml::Kind::boolean) return node.boolean;
  note(node, fmt::format("expected true or false, found {}", kind_name(node.kind)));
  return std::nullopt;
}

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

bool ScriptReader::is_map(const yaml::Node& node, std::string_view what) {
  if (node.kind == yaml::Kind::map) return true;
  note(node, fmt::format("expected {} as a map, found {}", what, kind_name(node.kind)));
  return false;
}

bool ScriptReader::is_list(const yaml::Node& node, std::string_view what) {
  if (node.kind == yaml::Kind::list) return true;
  note(node, fmt::format("expected a list of {}, found {}", what, kind_name(node.kind)));
  return false;
}

void ScriptReader::note_unknown(const yaml::Node& key, std::string_view what,
                                const std::vector<std::string_view>& names) {
  const std::string_view meant = closest(names, key.text);
  if (!meant.empty()) {
    note(key, fmt::format("{} has no member {} (did you mean {}?)", what, key.text, meant));
  } else {
    note(key, fmt::format("{} has no member {}; it may have {}", what, key.text.substr(0, 40),
                          fmt::join(names, ", ")));
  }
}

}  // namespace treaty::backends
