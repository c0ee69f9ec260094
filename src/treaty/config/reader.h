// How treaty.yaml is read: every member of a map has a function that takes it, and what is wrong is
// noted with its place while reading goes on. Values are expanded as they are taken; messages quote
// what the file says, never what a variable holds.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "treaty/base/yaml.h"
#include "treaty/config/load.h"
#include "treaty/config/problem.h"

namespace treaty::config {

class Reader;

template <class Target>
struct Member {
  std::string_view name;
  void (*take)(Reader& reader, const yaml::Node& node, Target& target);
};

class Reader {
 public:
  // The sources outlive the reader. Paths in the file are relative to its folder.
  Reader(std::string file, const Sources& sources) : file_(std::move(file)), sources_(sources) {}

  const Sources& sources() const { return sources_; }

  void note(const yaml::Node& node, std::string_view message, std::string_view hint = {});
  void note(Problem problem) { problems_.push_back(std::move(problem)); }

  // In the order of the file.
  std::vector<Problem> take_problems();

  // Each notes what is wrong and answers nothing then.
  std::optional<std::string> text(const yaml::Node& node);    // Of any scalar.
  std::optional<std::string> phrase(const yaml::Node& node);  // The same, but not blank.
  std::optional<std::int64_t> integer(const yaml::Node& node, std::int64_t least,
                                      std::int64_t most);
  std::optional<double> decimal(const yaml::Node& node, double least, double most);
  std::optional<bool> boolean(const yaml::Node& node);
  std::optional<std::chrono::milliseconds> duration(
      const yaml::Node& node, std::chrono::milliseconds most,
      std::chrono::milliseconds least = std::chrono::milliseconds(1));
  std::optional<std::int64_t> dollars(const yaml::Node& node);  // More than none, in 10^-12.
  std::optional<std::size_t> size(const yaml::Node& node, std::size_t least, std::size_t most);
  bool is_map(const yaml::Node& node, std::string_view what);  // Nothing at all is an empty one.
  bool is_list(const yaml::Node& node, std::string_view what);

  // The place in `words` of the one that stands there.
  std::optional<std::size_t> word(const yaml::Node& node, std::span<const std::string_view> words);

  // Absolute; what is relative is so to the folder of the file.
  std::string path_of(std::string_view path) const;

  struct File {
    std::string path;
    std::string text;
  };
  // The file that the value names, read.
  std::optional<File> file(const yaml::Node& node);

  // Gives every member of `map` to the function of its name.
  template <class Target>
  void members(const yaml::Node& map, std::string_view what, std::span<const Member<Target>> known,
               Target& target) {
    if (!is_map(map, what)) return;
    for (const auto& [key, value] : map.members) {
      if (const Member<Target>* member = find(known, key.text)) {
        member->take(*this, value, target);
      } else {
        note_unknown(key, what, names_of(known));
      }
    }
  }

  template <class Target>
  static std::vector<std::string_view> names_of(std::span<const Member<Target>> known) {
    std::vector<std::string_view> names;
    names.reserve(known.size());
    for (const Member<Target>& member : known) names.push_back(member.name);
    return names;
  }

 private:
  template <class Target>
  static const Member<Target>* find(std::span<const Member<Target>> known, std::string_view name) {
    for (const Member<Target>& member : known) {
      if (member.name == name) return &member;
    }
    return nullptr;
  }

  void note_unknown(const yaml::Node& key, std::string_view what,
                    std::span<const std::string_view> names);
  std::optional<std::string> number_text(const yaml::Node& node);

  std::string file_;
  const Sources& sources_;
  std::vector<Problem> problems_{};
};

}  // namespace treaty::config
