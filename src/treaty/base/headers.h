// The header fields of an HTTP message: names in lower case, in the order they came, one entry a
// name. A field that comes again is joined to the first with ", " (RFC 9110 §5.3).
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace treaty {

struct HeaderField {
  std::string name;
  std::string value;
  bool operator==(const HeaderField&) const = default;
};

class Headers {
 public:
  Headers() = default;
  Headers(std::initializer_list<std::pair<std::string_view, std::string_view>> fields);

  // White space around the value is dropped.
  void add(std::string_view name, std::string_view value);

  // Puts `value` in the place of what was there.
  void set(std::string_view name, std::string_view value);

  // `name` in lower case. Null when there is none.
  const std::string* find(std::string_view name) const;

  // The value, or an empty text when there is none.
  std::string_view get(std::string_view name) const;

  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }
  bool empty() const { return fields_.empty(); }
  std::size_t size() const { return fields_.size(); }
  void reserve(std::size_t count) { fields_.reserve(count); }
  bool operator==(const Headers&) const = default;

 private:
  HeaderField* slot(std::string_view name);

  std::vector<HeaderField> fields_;
};

}  // namespace treaty
