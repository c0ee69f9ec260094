#include "treaty/config/reader.h"

#include <fmt/format.h>

#include <filesystem>

#include "treaty/config/units.h"

namespace treaty::config {

using yaml::Kind;
using yaml::Node;

std::optional<std::string> Reader::expanded(const Node& node) {
  if (!is_reference(node)) return node.text;
  auto value = expand(node.text, sources_.environment);
  if (value) return *std::move(value);
  note(node, value.error().message, value.error().hint);
  return std::nullopt;
}

bool Reader::is_reference(const Node& node) const {
  return node.kind == Kind::string && node.text.contains('$');
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

std::string Reader::path_of(std::string_view path) const {
  const std::filesystem::path folder = std::filesystem::path(yaml::Reader::file()).parent_path();
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

}  // namespace treaty::config
