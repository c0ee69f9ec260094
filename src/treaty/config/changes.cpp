// The difference of two configurations, as the difference of what `treaty config show` prints.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "treaty/base/secrets.h"
#include "treaty/base/text.h"
#include "treaty/config/show.h"

namespace treaty::config {
namespace {

using yaml::Kind;
using yaml::Node;

// A running server cannot change these.
constexpr std::array<std::string_view, 3> kFixed = {"listen", "store", "workers"};

std::string quoted(const Node& node) {
  constexpr std::size_t kLongest = 60;
  if (node.kind == Kind::list) return fmt::format("[{}]", node.items.empty() ? "" : "…");
  if (node.kind == Kind::map) return fmt::format("{{{}}}", node.members.empty() ? "" : "…");
  std::string text = mask_secrets(node.text);
  std::ranges::replace(text, '\n', ' ');
  if (text.size() > kLongest) text = fmt::format("{}…", utf8_prefix(text, kLongest));
  return text.empty() ? "\"\"" : text;
}

bool is_secret(const Node& node) { return node.text.contains(kDigestMark); }

class Differences {
 public:
  void compare(const std::string& path, const Node& before, const Node& after) {
    if (before.kind == Kind::map && after.kind == Kind::map)
      return compare_maps(path, before, after);
    if (before.kind == Kind::list && after.kind == Kind::list) {
      return compare_lists(path, before, after);
    }
    if (before.kind == after.kind && before.text == after.text) return;
    if (is_secret(before) || is_secret(after)) return add(path, "changed");
    add(path, fmt::format("{} → {}", quoted(before), quoted(after)));
  }

  std::vector<std::string> take() { return std::move(lines_); }

 private:
  void compare_maps(const std::string& path, const Node& before, const Node& after) {
    const std::string prefix = path.empty() ? "" : path + ".";
    for (const auto& [key, value] : before.members) {
      if (const Node* other = after.find(key.text)) {
        compare(prefix + key.text, value, *other);
      } else if (!key.text.ends_with(kContent)) {  // The file's name tells it.
        add(prefix + key.text, "removed");
      }
    }
    for (const auto& [key, value] : after.members) {
      if (before.find(key.text) == nullptr && !key.text.ends_with(kContent)) {
        add(prefix + key.text,
            value.is_scalar() && !is_secret(value) ? "added: " + quoted(value) : "added");
      }
    }
  }

  void compare_lists(const std::string& path, const Node& before, const Node& after) {
    const std::size_t both = std::min(before.items.size(), after.items.size());
    for (std::size_t i = 0; i < both; ++i) {
      compare(fmt::format("{}[{}]", path, i), before.items[i], after.items[i]);
    }
    for (std::size_t i = both; i < before.items.size(); ++i) {
      add(fmt::format("{}[{}]", path, i), "removed");
    }
    for (std::size_t i = both; i < after.items.size(); ++i) {
      add(fmt::format("{}[{}]", path, i), "added");
    }
  }

  void add(const std::string& path, std::string_view what) {
    const bool is_fixed = std::ranges::find(kFixed, path) != kFixed.end();
    lines_.push_back(fmt::format("{}: {}{}", path, what, is_fixed ? " (needs a restart)" : ""));
  }

  std::vector<std::string> lines_{};
};

}  // namespace

std::vector<std::string> changes_between(const Configuration& before, const Configuration& after) {
  Differences differences;
  differences.compare("", shown(before, Purpose::comparison), shown(after, Purpose::comparison));
  return differences.take();
}

}  // namespace treaty::config
