#include "treaty/cli/machine/json_argument.h"

#include <fmt/format.h>

#include "treaty/base/json_dynamic.h"
#include "treaty/base/text.h"
#include "treaty/cli/input.h"
#include "treaty/cli/terminal.h"
#include "treaty/store/machines.h"

namespace treaty::cli {
namespace {

constexpr std::size_t kLargestItems = std::size_t{64} << 20U;
constexpr std::size_t kLongestName = 100;

std::string compact_item(json::Value value) { return json::to_json(json::to_dynamic(value)); }

}  // namespace

Result<machines::Dynamic> read_json_argument(std::string_view what, const std::string& argument) {
  constexpr std::size_t kLargest = std::size_t{16} << 20U;
  std::string text = argument;
  if (text.starts_with('@') || text == "-") {
    auto file = read_input(text == "-" ? text : text.substr(1), kLargest);
    if (!file) return misused(fmt::format("{}: {}", what, file.error().message));
    text = std::move(*file);
  }
  if (text.size() > kLargest) {
    return misused(fmt::format(
        "{} is larger than 16 MiB; keep large things in files, and pass their names", what));
  }
  const json::Document document(text, {.max_size = kLargest});
  if (!document.faults().empty() || !document.root()) {
    return misused(fmt::format("{} is not JSON{}{}; a text is in double quotes: '\"like this\"'",
                               what, document.faults().empty() ? "" : ": ",
                               document.faults().empty() ? "" : document.faults().front().message));
  }
  return json::to_dynamic(*document.root());
}

std::string json_lines_of(const machines::Dynamic& value) {
  return harmless_lines(json::to_json(value, json::Layout::indented));
}

std::expected<std::vector<std::string>, std::string> read_items(std::string_view text) {
  std::vector<std::string> items;
  if (trimmed(text).starts_with('[')) {
    const json::Document whole(text, {.max_size = kLargestItems});
    if (whole.faults().empty() && whole.root() && whole.root()->is_array()) {
      for (const json::Value element : whole.root()->elements())
        items.push_back(compact_item(element));
      return items;
    }
  }
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Line line = line_at(text, at);
    at = line.next;
    ++number;
    if (is_blank(line.text)) continue;
    const json::Document document(line.text, {.max_size = kLargestItems});
    if (!document.faults().empty() || !document.root()) {
      return std::unexpected(fmt::format(
          "line {} is not JSON; items are a JSON list, or one JSON value a line", number));
    }
    items.push_back(compact_item(*document.root()));
  }
  return items;
}

machines::Object input_of_item(std::string_view data) {
  const json::Document document(data, {.max_size = kLargestItems});
  if (!document.root() || !document.faults().empty()) return {{"item", data}};
  machines::Dynamic value = json::to_dynamic(*document.root());
  if (auto* object = value.if_object()) return std::move(*object);
  return {{"item", std::move(value)}};
}

bool is_pool_name(std::string_view text) {
  return text.size() <= kLongestName && store::is_execution_id(text);
}

std::string execution_of(std::string_view pool, std::string_view item) {
  return fmt::format("{}-{}", pool, item);
}

}  // namespace treaty::cli
