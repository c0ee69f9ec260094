#include "treaty/results/draft_limits.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "treaty/base/text.h"
#include "treaty/results/reset_time.h"

namespace treaty::results {
namespace {

struct Item {
  std::string name{};
  std::optional<std::int64_t> remaining{};  // r
  std::optional<std::int64_t> resets_in{};  // t
  std::optional<std::int64_t> quota{};      // q
};

// Digits only; too large ones end at int64's end.
class ListReader {
 public:
  explicit ListReader(std::string_view text) : rest_(text) {}

  std::optional<Item> next() {
    skip_space();
    Item item;
    if (!take_name(item.name) || is_blank(item.name) || !is_utf8(item.name)) return std::nullopt;
    for (skip_space(); take(';'); skip_space()) {
      if (!take_parameter(item)) return std::nullopt;
    }
    if (!rest_.empty() && !take(',')) return std::nullopt;
    return item;
  }

 private:
  void skip_space() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t'))
      rest_.remove_prefix(1);
  }

  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string_view take_token() {
    const auto end = std::ranges::find_if_not(
        rest_, [](char c) { return is_alphanumeric(c) || std::string_view("_-.*").contains(c); });
    const std::string_view token(rest_.begin(), end);
    rest_.remove_prefix(token.size());
    return token;
  }

  bool take_name(std::string& name) {
    if (!take('"')) {
      name = take_token();
      return !name.empty();
    }
    while (!rest_.empty() && rest_.front() != '"') {
      if (rest_.front() == '\\') rest_.remove_prefix(1);
      if (rest_.empty()) return false;
      name += rest_.front();
      rest_.remove_prefix(1);
    }
    return take('"');
  }

  // `r=50`; other parameters are passed over.
  bool take_parameter(Item& item) {
    skip_space();
    const std::string_view key = take_token();
    if (key.empty()) return false;
    if (!take('=')) return true;
    std::string value;
    if (rest_.starts_with('"')) return take_name(value);
    if (rest_.starts_with(':')) return take_bytes();
    if (take('?')) return !take_token().empty();
    const std::string_view token = take_token();
    const auto number = parse_count(token);
    if (!number) return !token.empty();
    if (key == "r") item.remaining = number;
    if (key == "t") item.resets_in = std::min(*number, Duration::kLongest);
    if (key == "q") item.quota = number;
    return true;
  }

  bool take_bytes() {
    const std::size_t end = rest_.find(':', 1);
    if (end == std::string_view::npos) return false;
    rest_.remove_prefix(end + 1);
    return true;
  }

  std::string_view rest_;
};

constexpr std::size_t kMostWindows = 32;

}  // namespace

std::vector<DraftWindow> parse_draft_windows(std::string_view limit, std::string_view policy) {
  std::vector<DraftWindow> windows;
  ListReader limits(limit);
  for (auto item = limits.next(); item && windows.size() < kMostWindows; item = limits.next()) {
    windows.push_back({.name = item->name, .resets_in = item->resets_in});
    if (item->remaining) windows.back().remaining = Number(*item->remaining);
  }
  ListReader policies(policy);
  for (auto item = policies.next(); item && windows.size() < kMostWindows; item = policies.next()) {
    if (!item->quota) continue;
    auto window = std::ranges::find(windows, item->name, &DraftWindow::name);
    if (window == windows.end()) window = windows.insert(window, {.name = item->name});
    if (!window->limit) window->limit = Number(*item->quota);
  }
  std::erase_if(windows,
                [](const DraftWindow& window) { return !window.remaining && !window.limit; });
  return windows;
}

}  // namespace treaty::results
