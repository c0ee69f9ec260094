#include "treaty/cli/machine/json_argument.h"

#include <fmt/format.h>

#include "treaty/base/json_dynamic.h"
#include "treaty/cli/input.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli {
std::expected<machines::Dynamic, std::string> read_json_argument(std::string_view what,
                                                                 const std::string& argument) {
  constexpr std::size_t kLargest = std::size_t{16} << 20U;
  std::string text = argument;
  if (text.starts_with('@') || text == "-") {
    auto file = read_input(text == "-" ? text : text.substr(1), kLargest);
    if (!file) return std::unexpected(fmt::format("{}: {}", what, file.error().message));
    text = std::move(*file);
  }
  if (text.size() > kLargest) {
    return std::unexpected(fmt::format(
        "{} is larger than 16 MiB; keep large things in files, and pass their names", what));
  }
  const json::Document document(text, {.max_size = kLargest});
  if (!document.faults().empty() || !document.root()) {
    return std::unexpected(
        fmt::format("{} is not JSON{}{}; a text is in double quotes: '\"like this\"'", what,
                    document.faults().empty() ? "" : ": ",
                    document.faults().empty() ? "" : document.faults().front().message));
  }
  return json::to_dynamic(*document.root());
}

std::string json_text_of(const machines::Dynamic& value) {
  json::Writer writer;
  json::write(writer, value);
  return writer.take();
}

std::string json_lines_of(const machines::Dynamic& value) {
  json::Writer writer(json::Layout::indented);
  json::write(writer, value);
  return harmless_lines(writer.take());
}

}  // namespace treaty::cli
