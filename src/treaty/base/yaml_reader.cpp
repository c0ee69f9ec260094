#include "treaty/base/yaml_reader.h"

#include <fmt/format.h>

#include <tuple>

#include "treaty/base/pieces.h"
#include "treaty/base/secrets.h"
#include "treaty/base/text.h"

namespace treaty::yaml {

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

void Reader::note(const Node& node, std::string_view message, std::string_view hint) {
  problems_.push_back({.where = file_,
                       .line = node.line,
                       .column = node.column,
                       .message = mask_secrets(message),
                       .hint = mask_secrets(hint)});
}

std::vector<Diagnostic> Reader::take_problems() {
  const auto key = [this](const Diagnostic& problem) {
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
  if (node.is_scalar() && node.kind != Kind::null) return expanded(node);
  note(node, fmt::format("expected a text, found {}", kind_name(node.kind)));
  return std::nullopt;
}

std::optional<std::string> Reader::phrase(const Node& node) {
  auto found = text(node);
  if (!found || !is_blank(*found)) return found;
  note(node, "this is blank", "write a text, or leave the key out");
  return std::nullopt;
}

std::optional<std::string> Reader::number_text(const Node& node) {
  if (node.kind == Kind::integer || node.kind == Kind::decimal) return node.text;
  return is_reference(node) ? text(node) : "";
}

std::optional<std::int64_t> Reader::integer(const Node& node, std::int64_t least,
                                            std::int64_t most) {
  const auto written = number_text(node);
  if (!written) return std::nullopt;
  auto number = node.kind == Kind::integer ? std::optional(node.integer) : std::nullopt;
  if (is_reference(node)) number = parse_number<std::int64_t>(trimmed(*written));
  if (number && *number >= least && *number <= most) return number;
  note(node, most == std::numeric_limits<std::int64_t>::max()
                 ? fmt::format("expected a whole number, {} or more", least)
                 : fmt::format("expected a whole number, {} to {}", least, most));
  return std::nullopt;
}

std::optional<double> Reader::decimal(const Node& node, double least, double most) {
  const auto written = number_text(node);
  if (!written) return std::nullopt;
  const auto number = parse_number<double>(trimmed(*written));
  if (number && *number >= least && *number <= most) return number;
  note(node, fmt::format("expected a number, {} to {}", least, most));
  return std::nullopt;
}

std::optional<bool> Reader::boolean(const Node& node) {
  if (node.kind == Kind::boolean) return node.boolean;
  if (is_reference(node)) {
    const auto found = text(node);
    if (!found) return std::nullopt;
    if (equal_folded(trimmed(*found), "true")) return true;
    if (equal_folded(trimmed(*found), "false")) return false;
  }
  note(node, fmt::format("expected true or false, found {}", kind_name(node.kind)));
  return std::nullopt;
}

bool Reader::is_map(const Node& node, std::string_view what) {
  if (node.kind == Kind::map || (node.kind == Kind::null && empty_ == Empty::accepted)) return true;
  note(node, fmt::format("expected {} as a map, found {}", what, kind_name(node.kind)));
  return false;
}

bool Reader::is_list(const Node& node, std::string_view what) {
  if (node.kind == Kind::list || (node.kind == Kind::null && empty_ == Empty::accepted)) {
    return true;
  }
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

void Reader::note_unknown(const Node& key, std::string_view what,
                          std::span<const std::string_view> names) {
  constexpr std::size_t kLongestQuote = 40;
  const std::string_view meant =
      key.text.size() <= kLongestQuote ? closest(names, key.text) : std::string_view();
  note(key, fmt::format("{} has no key {}", what, key.text.substr(0, kLongestQuote)),
       meant.empty() ? fmt::format("it may have {}", fmt::join(names, ", "))
                     : fmt::format("did you mean {}?", meant));
}

}  // namespace treaty::yaml
