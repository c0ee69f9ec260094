// How the values of a machine file are taken: each function notes what is wrong with its value and
// answers nothing then, so that reading goes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "treaty/base/yaml.h"
#include "treaty/machines/load.h"
#include "treaty/machines/machine.h"

namespace treaty::machines {

// A value of a machine file together with the way to it: a finding points at the key, or at the
// entry of a list.

// Knows its parent by address: a place lives on the stack, above the places inside of it.
class Place {
 public:
  explicit Place(const yaml::Node& root) : value_(&root) {}

  // The value under that key; nothing when it is null, which is how files leave a key empty.
  std::optional<Place> find(std::string_view key) const&;

  // Where to point at when that value is missing: its key, if that is there, else this place.
  Place nearest(std::string_view key) const&;

  Place member(const std::pair<yaml::Node, yaml::Node>& member) const& {
    return {this, &member.first, 0, &member.second};
  }
  Place entry(std::size_t index) const& { return {this, nullptr, index, &value_->items[index]}; }

  const yaml::Node& value() const { return *value_; }
  yaml::Kind kind() const { return value_->kind; }
  std::string_view name() const { return key_ == nullptr ? std::string_view() : key_->text; }

  int line() const { return marked().line; }
  int column() const { return marked().column; }
  std::string pointer() const;  // RFC 6901.

 private:
  Place(const Place* parent, const yaml::Node* key, std::size_t index, const yaml::Node* value)
      : parent_(parent), key_(key), index_(index), value_(value) {}

  const yaml::Node& marked() const { return key_ == nullptr ? *value_ : *key_; }
  void append_pointer(std::string& out) const;

  const Place* parent_ = nullptr;
  const yaml::Node* key_ = nullptr;  // Of a member.
  std::size_t index_ = 0;            // Of an entry.
  const yaml::Node* value_;
};

// What was found while a machine was read: bounded in number, each place and rule once.

class Findings {
 public:
  void violate(std::string_view rule, const Place& place, std::string message,
               std::string hint = {}) {
    add(true, rule, place, std::move(message), std::move(hint));
  }
  void warn(std::string_view rule, const Place& place, std::string message, std::string hint = {}) {
    add(false, rule, place, std::move(message), std::move(hint));
  }

  bool has_violation() const { return violations_ > 0; }

  // Whether another one would only be counted: then nobody needs to look for a hint.
  bool is_full() const { return violations_ >= kMostKept; }

  // From here on everything is reported at the name of this inline machine. Answers whether that
  // is new: one inside of another is reported at the outer name.
  bool pin(const Place& name);
  void unpin() { pinned_.reset(); }

  // In the order of the file, the first kMostListed of them.
  void finish(std::string_view text, Loaded& loaded);

 private:
  // Of either kind. More than are listed, since they are not found in the order of the file.
  static constexpr std::size_t kMostKept = 10'000;

  struct Found {
    Diagnostic finding;
    bool is_violation;
    std::size_t order;  // In which it was found.
  };

  void add(bool is_violation, std::string_view rule, const Place& place, std::string message,
           std::string hint);

  std::vector<Found> found_{};
  std::set<std::pair<std::string, std::string>> seen_{};  // Rule and place.
  std::size_t unlisted_ = 0;                              // Beyond what is kept.
  std::optional<std::pair<int, int>> pinned_{};           // Line and column.
  std::size_t violations_ = 0;                            // Kept.
  std::size_t warnings_ = 0;
};

// The readers of texts count bytes in a column. Gives findings, which are in the order of the file,
// their offsets and columns of characters.
void settle_places(std::string_view text, std::vector<Diagnostic>& findings);

using Names = std::set<std::string, std::less<>>;

// "did you mean X?", or nothing.
std::string hint_nearest(const Names& names, std::string_view word);
std::string hint_nearest(std::span<const std::string_view> names, std::string_view word);

// Foreign text in a message: in quotes, cut when it is long.
std::string quote(std::string_view text);

Dynamic to_value(const yaml::Node& node);

// true, false, and what YAML 1.1 calls them: yes, on, no, off.
std::optional<bool> boolean_in(const yaml::Node& node);

class Reader {
 public:
  Reader(Findings& found, const LoadOptions& options) : findings(found), options(options) {}

  Findings& findings;
  const LoadOptions& options;

  // Of the machine that is being read.
  Names states{};
  Names agents{};
  Names machines{};

  // MCH-05, unless it is one.
  std::optional<std::string> text(const Place& place, std::string_view what);
  std::optional<bool> boolean(const Place& place, std::string_view what);
  std::optional<std::int64_t> integer(const Place& place, std::string_view what, std::int64_t least,
                                      std::int64_t most);
  std::optional<double> number(const Place& place, std::string_view what, double least,
                               double most);
  std::optional<std::size_t> word(const Place& place, std::string_view what,
                                  std::span<const std::string_view> words);
  bool is_map(const Place& place, std::string_view what);
  bool is_list(const Place& place, std::string_view what);
  void wrong(const Place& place, std::string_view what, std::string_view expected);

  // The name of something that `known` lists, else `rule`. Keys of YAML may be written as numbers
  // (`1:`), and so may names of them.
  std::optional<std::string> name(const Place& place, std::string_view what, const Names& known,
                                  std::string_view rule);

  // MCH-04.
  void refuse_unknown_keys(const Place& map, std::string_view what,
                           std::span<const std::string_view> known);
};

}  // namespace treaty::machines
