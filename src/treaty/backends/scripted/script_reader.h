// How a script is read: every member of a map has a function that takes it, and what is wrong is
// noted with its place while reading goes on.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/backends/scripted/script.h"
#include "treaty/base/yaml.h"

namespace treaty::backends {

class ScriptReader;

template <class Target>
struct ScriptMember {
  std::string_view name;
  void (*take)(ScriptReader& reader, const yaml::Node& node, Target& target);
};

class ScriptReader {
 public:
  void note(const yaml::Node& node, std::string message);

  std::vector<ScriptProblem> take_problems();

  // Each notes what is wrong and answers nothing then.
  std::optional<std::string> text(const yaml::Node& node);  // Of any scalar, as it is written.
  std::optional<std::int64_t> integer(const yaml::Node& node, std::int64_t least,
                                      std::int64_t most = std::numeric_limits<std::int64_t>::max());
  std::optional<bool> boolean(const yaml::Node& node);
  std::optional<std::chrono::milliseconds> duration(const yaml::Node& node);
  std::optional<Point> point(const yaml::Node& node);
  bool is_map(const yaml::Node& node, std::string_view what);
  bool is_list(const yaml::Node& node, std::string_view what);

  // Gives every member of `map` to the function of its name.
  template <class Target>
  void members(const yaml::Node& map, std::string_view what,
               std::span<const ScriptMember<Target>> known, Target& target) {
    if (!is_map(map, what)) return;
    for (const auto& [key, value] : map.members) {
      const auto found = std::ranges::find(known, key.text, &ScriptMember<Target>::name);
      if (found != known.end()) {
        found->take(*this, value, target);
        continue;
      }
      std::vector<std::string_view> names;
      for (const auto& member : known) names.push_back(member.name);
      note_unknown(key, what, names);
    }
  }

 private:
  void note_unknown(const yaml::Node& key, std::string_view what,
                    const std::vector<std::string_view>& names);

  std::vector<ScriptProblem> problems_{};
};

// The reply that `node` holds, checked as a whole. A rule's `when` is passed over.
Reply read_reply(ScriptReader& reader, const yaml::Node& node);

void read_headers(ScriptReader& reader, const yaml::Node& node, Headers& headers);

}  // namespace treaty::backends
