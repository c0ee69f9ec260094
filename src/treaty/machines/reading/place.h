// A value of a machine file together with the way to it: a finding points at the key, or at the
// entry of a list.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "treaty/base/yaml.h"

namespace treaty::machines {

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

}  // namespace treaty::machines
