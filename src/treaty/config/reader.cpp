#include "treaty/config/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <tuple>

#include "treaty/base/secrets.h"
#include "treaty/base/text.h"
#include "treaty/config/units.h"

namespace treaty::config {
namespace {

using yaml::Kind;
using yaml::Node;

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::null: return "nothing";
    case Kind::boolean: return "true or false";
    case Kind::integer:
    case Kind::decimal: return "a number";
    case Kind::string: return "a text";
    case Kind::list: return "a list";
    case Kind::map: return "a map";
  }
  return "something else";
}

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc() || stop != end) return std::nullopt;
  return number;
}

}  // namespace

std::string text_of(const Problem& problem) {
  std::string out = problem.where;
  if (problem.line > 0) out += fmt::format(":{}:{}", problem.line, problem.column);
  out += fmt::format("{}{}", out.empty() ? "" : ": ", problem.message);
  if (!problem.hint.empty()) out += fmt::format(" ({})", problem.hint);
  return out;
}

void Reader::note(const Node& node, std::string_view message, std::string_view hint) {
  problems_.push_back({.where = file_,
                       .line = node.line,
                       .column = node.column,
                       .message = mask_secrets(message),
                       .hint = mask_secrets(hint)});
}

std::vector<Problem> Reader::take_problems() {
  const auto key = [this](const Problem& problem) {
    const bool is_elsewhere = problem.line > 0 && problem.where != file_;
    return std::tuple(is_elsewhere ? problem.where : std::string(), problem.line, problem.column,
                      problem.message);
  };
  std::ranges::sort(problems_, {}, key);
  const auto again = std::ranges::unique(problems_);  // A file may be named twice.
  problems_.erase(again.begin(), again.end());
  return std::move(problems_);
}

std::optional<std::string> Reader::text(const Node& node) {
  if (!node.is_scalar() || node.kind == Kind::null) {
    note(node, fmt::format("expected a text, found {}", kind_name(node.kind)));
    return std::nullopt;
  }
  if (node.kind != Kind::string || !node.text.contains('$')) return node.text;
  auto expanded = expand(node.text, sources_.environment);
  if (expanded) return *std::move(expanded);
  note(node, expanded.error().message, expanded.error().hint);
  return std::nullopt;
}

std::optional<std::string> Reader::phrase(const Node& node) {
  auto found = text(node);
  if (!found || !is_blank(*found)) return found;
  note(node, "this is blank", "write a text, or leave the key out");
  return std::nullopt;
}

// The text of a number, or of a variable that holds one; else nothing, and nothing noted unless the
// variable is not set.
std::optional<std::string> Reader::number_text(const Node& node) {
  if (node.kind == Kind::integer || node.kind == Kind::decimal) return node.text;
  if (node.kind == Kind::string && node.text.contains('$')) return text(node);
  return "";
}

std::optional<std::int64_t> Reader::integer(const Node& node, std::int64_t least,
                                            std::int64_t most) {
  const auto written = number_text(node);
  if (!written) return std::nullopt;
  const auto number = node.kind == Kind::integer ? std::optional(node.integer)
                                                 : number_in<std::int64_t>(trimmed(*written));
  if (number && *number >= least && *number <= most) return number;
  note(node, fmt::format("expected a whole number, {} to {}", least, most));
  return std::nullopt;
}

std::optional<double> Reader::decimal(const Node& node, double least, double most) {
  const auto written = number_text(node);
  if (!written) return std::nullopt;
  const auto number = number_in<double>(trimmed(*written));
  if (number && *number >= least && *number <= most) return number;
  note(node, fmt::format("expected a number, {} to {}", least, most));
  return std::nullopt;
}

std::optional<bool> Reader::boolean(const Node& node) {
  if (node.kind == Kind::boolean) return node.boolean;
  if (node.kind == Kind::string && node.text.contains('$')) {
    const auto found = text(node);
    if (!found) return std::nullopt;
    if (equal_folded(trimmed(*found), "true")) return true;
    if (equal_folded(trimmed(*found), "false")) return false;
  }
  note(node, fmt::format("expected true or false, found {}", kind_name(node.kind)));
  return std::nullopt;
}

std::optional<std::chrono::milliseconds> Reader::duration(const Node& node,
                                                          std::chrono::milliseconds most,
                                                          std::chrono::milliseconds least) {
  const auto written = text(node);
  if (!written) return std::nullopt;
  const auto time = parse_duration(*written);
  if (time && *time >= least && *time <= most) return time;
  note(node,
       fmt::format("expected a duration from {} to {}", duration_text(least), duration_text(most)),
       "with its unit: 500ms, 30s, 5m, 24h, 7d");
  return std::nullopt;
}

std::optional<std::int64_t> Reader::dollars(const Node& node) {
  const auto written = number_text(node);
  if (!written) return std::nullopt;
  const auto amount = parse_dollars(*written);
  if (amount && *amount > 0) return amount;
  note(node, "expected dollars, more than 0 and at most 1000000",
       "such as 2.50, with at most 12 decimals");
  return std::nullopt;
}

std::optional<std::size_t> Reader::size(const Node& node, std::size_t least, std::size_t most) {
  const auto written = text(node);
  if (!written) return std::nullopt;
  const auto bytes = parse_size(*written);
  if (bytes && *bytes >= least && *bytes <= most) return bytes;
  note(node, fmt::format("expected a size from {} to {}", size_text(least), size_text(most)),
       "such as 16MiB, 64KiB, or a number of bytes");
  return std::nullopt;
}

bool Reader::is_map(const Node& node, std::string_view what) {
  if (node.kind == Kind::map || node.kind == Kind::null) return true;
  note(node, fmt::format("expected {} as a map, found {}", what, kind_name(node.kind)));
  return false;
}

bool Reader::is_list(const Node& node, std::string_view what) {
  if (node.kind == Kind::list || node.kind == Kind::null) return true;
  note(node, fmt::format("expected a list of {}, found {}", what, kind_name(node.kind)));
  return false;
}

std::optional<std::size_t> Reader::word(const Node& node, std::span<const std::string_view> words) {
  const auto written = text(node);
  if (!written) return std::nullopt;
  const auto found = std::ranges::find(words, *written);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  const std::string_view meant = closest(words, node.text);
  note(node, fmt::format("expected {}", fmt::join(words, " or ")),
       meant.empty() ? "" : fmt::format("did you mean {}?", meant));
  return std::nullopt;
}

std::string Reader::path_of(std::string_view path) const {
  const std::filesystem::path folder = std::filesystem::path(file_).parent_path();
  return (sources_.directory / folder / path).lexically_normal().string();
}

std::optional<Reader::File> Reader::file(const Node& node) {
  const auto name = phrase(node);
  if (!name) return std::nullopt;
  std::string path = path_of(*name);
  auto read = sources_.read_file(path);
  if (!read) {
    note(node, fmt::format("the file {}", read.error().message),
         "paths are relative to the folder of this file");
    return std::nullopt;
  }
  return File{std::move(path), *std::move(read)};
}

void Reader::note_unknown(const Node& key, std::string_view what,
                          std::span<const std::string_view> names) {
  constexpr std::size_t kLongestQuote = 40;
  const std::string_view meant =
      key.text.size() <= kLongestQuote ? closest(names, key.text) : std::string_view();
  note(key, fmt::format("{} has no key {}", what, key.text.substr(0, kLongestQuote)),
       meant.empty() ? fmt::format("it may have {}", fmt::join(names, ", "))
                     : fmt::format("did you mean {}?", meant));
}

}  // namespace treaty::config
