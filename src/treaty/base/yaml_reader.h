// Takes the values of a YAML tree, checked: each function notes what is wrong with its value and
// answers nothing then, so that reading goes on and everything that is wrong is told at once.
//
//   struct Point { std::int64_t x = 0; };
//   constexpr yaml::MemberReader<yaml::Reader, Point> kMembers[] = {
//       {"x", [](yaml::Reader& reader, const yaml::Node& node, Point& point) {
//          point.x = reader.integer(node, 0, 100).value_or(0); }}};
//   reader.members<Point>(root, "a point", kMembers, point);
//   auto problems = reader.take_problems();  // "3:5: a point has no key y (did you mean x?)"
//
// A reader belongs to one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "treaty/base/diagnostic.h"
#include "treaty/base/yaml.h"

namespace treaty::yaml {

// "a list", for messages.
std::string_view kind_name(Kind kind);

// A key of a map and the function that takes its value.
template <class TheReader, class Target>
struct MemberReader {
  std::string_view name;
  void (*take)(TheReader& reader, const Node& node, Target& target);
};

class Reader {
 public:
  // What a map or a list may be beside itself.
  enum class Empty { refused, accepted };  // A key without a value.

  Reader() = default;
  Reader(std::string file, Empty empty) : file_(std::move(file)), empty_(empty) {}
  virtual ~Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void note(const Node& node, std::string_view message, std::string_view hint = {});
  void note(Diagnostic problem) { problems_.push_back(std::move(problem)); }

  bool has_problems() const { return !problems_.empty(); }

  // In the order of the file, each once; those of other files come last.
  std::vector<Diagnostic> take_problems();

  std::optional<std::string> text(const Node& node);    // Of any scalar.
  std::optional<std::string> phrase(const Node& node);  // The same, but not blank.
  std::optional<std::int64_t> integer(const Node& node, std::int64_t least,
                                      std::int64_t most = std::numeric_limits<std::int64_t>::max());
  std::optional<double> decimal(const Node& node, double least, double most);
  std::optional<bool> boolean(const Node& node);
  bool is_map(const Node& node, std::string_view what);
  bool is_list(const Node& node, std::string_view what);

  // The place in `words` of the one that stands there.
  std::optional<std::size_t> word(const Node& node, std::span<const std::string_view> words);

  // Gives every member of `map` to the function of its name.
  template <class Target, class Self>
  void members(this Self& self, const Node& map, std::string_view what,
               std::type_identity_t<std::span<const MemberReader<Self, Target>>> known,
               Target& target) {
    if (!self.is_map(map, what)) return;
    for (const auto& [key, value] : map.members) {
      const auto found = std::ranges::find(known, key.text, &MemberReader<Self, Target>::name);
      if (found != known.end()) {
        found->take(self, value, target);
      } else {
        self.note_unknown(key, what, names_of<Target>(known));
      }
    }
  }

  // The keys that a table of members has.
  template <class Target>
  static std::vector<std::string_view> names_of(const auto& known) {
    std::vector<std::string_view> names;
    for (const auto& member : known) names.push_back(member.name);
    return names;
  }

 protected:
  const std::string& file() const { return file_; }

  // What a text stands for; nothing, and a note, when that cannot be told. A number or a boolean
  // may be written as such a text, too, if is_reference() says so.
  virtual std::optional<std::string> expanded(const Node& node) { return node.text; }
  virtual bool is_reference(const Node& /*node*/) const { return false; }

  // The text of a number or of a reference to one, else an empty text. Nothing when the reference
  // cannot be resolved, which is noted.
  std::optional<std::string> number_text(const Node& node);

 private:
  void note_unknown(const Node& key, std::string_view what,
                    std::span<const std::string_view> names);

  std::string file_{};
  Empty empty_ = Empty::refused;
  std::vector<Diagnostic> problems_{};
};

// To a member of any type of numbers, or that may be one.
template <class Number>
void assign_number(Number& member, std::int64_t number) {
  member = static_cast<Number>(number);
}
template <class Number>
void assign_number(std::optional<Number>& member, std::int64_t number) {
  member = static_cast<Number>(number);
}

// For tables of members: each takes a value into the member that `Path` leads to, which stays as it
// is when the value is refused.
template <auto... Path>
void take_text(auto& reader, const auto& node, auto& target) {
  if (auto text = reader.text(node)) (target.*....*Path) = *std::move(text);
}
template <auto... Path>
void take_phrase(auto& reader, const auto& node, auto& target) {
  if (auto text = reader.phrase(node)) (target.*....*Path) = *std::move(text);
}
template <auto... Path>
void take_boolean(auto& reader, const auto& node, auto& target) {
  if (const auto is_true = reader.boolean(node)) (target.*....*Path) = is_true.value();
}
template <std::int64_t Least, std::int64_t Most, auto... Path>
void take_integer(auto& reader, const auto& node, auto& target) {
  auto& member = (target.*....*Path);
  if (const auto number = reader.integer(node, Least, Most)) assign_number(member, *number);
}

}  // namespace treaty::yaml
