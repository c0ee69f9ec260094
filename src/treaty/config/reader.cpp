#include "treaty/config/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "treaty/base/text.h"
#include "treaty/config/units.h"

namespace treaty::config {
namespace {

std::unexpected<Diagnostic> fault(std::string message, std::string hint) {
  return std::unexpected(Diagnostic{.message = std::move(message), .hint = std::move(hint)});
}

bool is_variable(std::string_view name) {
  return !name.empty() && !is_digit(name[0]) && std::ranges::all_of(name, is_word_character);
}

// What stands between the braces.
std::expected<std::string, Diagnostic> value_of(std::string_view inside,
                                                const backends::Environment& environment) {
  const std::size_t mark = std::min(inside.find(":-"), inside.size());
  const std::string_view name = inside.substr(0, mark);
  if (!is_variable(name)) {
    return fault("${…} does not hold the name of a variable",
                 "write ${NAME} or ${NAME:-default}, and $$ for a dollar");
  }
  auto value = environment(name);
  const bool has_default = mark < inside.size();
  if (has_default && (!value || value->empty())) return std::string(inside.substr(mark + 2));
  if (value) return *std::move(value);
  return fault(fmt::format("the environment variable {} is not set", name.substr(0, 80)),
               fmt::format("set it, or write ${{{}:-default}}", name.substr(0, 80)));
}

}  // namespace

using yaml::Kind;
using yaml::Node;

std::expected<std::string, Diagnostic> expand(std::string_view text,
                                              const backends::Environment& environment) {
  std::string out;
  while (true) {
    const std::size_t dollar = std::min(text.find('$'), text.size());
    out += text.substr(0, dollar);
    text.remove_prefix(dollar);
    if (text.empty()) return out;
    if (!text.starts_with("${")) {
      out += '$';
      text.remove_prefix(text.starts_with("$$") ? 2 : 1);
      continue;
    }
    const std::size_t close = text.find('}');
    if (close == std::string_view::npos) {
      return fault("${ is never closed", "write ${NAME}, and $$ for a dollar");
    }
    auto value = value_of(text.substr(2, close - 2), environment);
    if (!value) return value;
    if (!is_utf8(*value)) {
      return fault("the environment variable does not hold UTF-8", "set it to a text");
    }
    out += *value;
    text.remove_prefix(close + 1);
  }
}

std::optional<std::string> ConfigReader::expanded(const Node& node) {
  if (!is_reference(node)) return node.text;
  auto value = expand(node.text, sources_.environment);
  if (value) return *std::move(value);
  note(node, value.error().message, value.error().hint);
  return std::nullopt;
}

bool ConfigReader::is_reference(const Node& node) const {
  return node.kind == Kind::string && node.text.contains('$');
}

std::optional<std::chrono::milliseconds> ConfigReader::duration(const Node& node,
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

std::optional<std::int64_t> ConfigReader::dollars(const Node& node) {
  const auto written = number_text(node);
  if (!written) return std::nullopt;
  const auto amount = parse_dollars(*written);
  if (amount && *amount > 0) return amount;
  note(node, "expected dollars, more than 0 and at most 1000000",
       "such as 2.50, with at most 12 decimals");
  return std::nullopt;
}

std::optional<std::size_t> ConfigReader::size(const Node& node, std::size_t least,
                                              std::size_t most) {
  const auto written = text(node);
  if (!written) return std::nullopt;
  const auto bytes = parse_size(*written);
  if (bytes && *bytes >= least && *bytes <= most) return bytes;
  note(node, fmt::format("expected a size from {} to {}", size_text(least), size_text(most)),
       "such as 16MiB, 64KiB, or a number of bytes");
  return std::nullopt;
}

std::string ConfigReader::path_of(std::string_view path) const {
  const std::filesystem::path folder = std::filesystem::path(yaml::Reader::file()).parent_path();
  return (sources_.directory / folder / path).lexically_normal().string();
}

std::optional<ConfigReader::File> ConfigReader::file(const Node& node) {
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

}  // namespace treaty::config
