// JSON out: members in the order they are written, numbers as JSON readers expect them.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/base/number.h"

namespace treaty::json {

// Appends `text` as a JSON string with its quotes. What is not ASCII stays as it is.
void append_quoted(std::string& out, std::string_view text);

// The shortest text that reads back as the same double, always with a point or an exponent, so
// that it stays a decimal. Infinity and NaN have no text in JSON and become null.
std::string decimal_text(double value);

enum class Layout {
  compact,   // On one line.
  indented,  // Two spaces a level.
};

// Writes one value, piece by piece. The caller is responsible for valid nesting.
class Writer {
 public:
  explicit Writer(Layout layout = Layout::compact) : layout_(layout) { out_.reserve(kUsual); }

  Writer& begin_object() { return open('{'); }
  Writer& end_object() { return close('}'); }
  Writer& begin_array() { return open('['); }
  Writer& end_array() { return close(']'); }
  Writer& name(std::string_view name);

  // An array: `write_one(entry)` writes each element.
  Writer& array(const auto& entries, const auto& write_one) {
    begin_array();
    for (const auto& entry : entries) write_one(entry);
    return end_array();
  }
  // An array of objects: `write_members(entry)` writes the members of each.
  Writer& objects(const auto& entries, const auto& write_members) {
    return array(entries, [&](const auto& entry) {
      begin_object();
      write_members(entry);
      end_object();
    });
  }
  // An array of the entries themselves.
  template <class Entry>
  Writer& value(const std::vector<Entry>& entries) {
    return array(entries, [&](const Entry& entry) { value(entry); });
  }

  Writer& value(std::string_view text);
  Writer& value(const char* text) { return value(std::string_view(text)); }
  Writer& value(bool boolean) { return raw(boolean ? "true" : "false"); }
  Writer& value(std::unsigned_integral auto integer) { return whole(integer, false); }
  Writer& value(std::signed_integral auto integer) {
    const auto bits = static_cast<std::uint64_t>(std::int64_t{integer});
    return integer < 0 ? whole(0 - bits, true) : whole(bits, false);
  }
  Writer& value(double decimal) { return raw(decimal_text(decimal)); }
  Writer& value(const Number& number) {
    return number.is_whole() ? value(number.whole()) : value(number.value());
  }
  Writer& null() { return raw("null"); }
  Writer& raw(std::string_view json);  // A value that is JSON already.

  Writer& member(std::string_view key, const auto& content) { return name(key).value(content); }
  // Null for what is not there, and for an empty text.
  template <class Content>
  Writer& member_or_null(std::string_view key, const std::optional<Content>& content) {
    return content ? member(key, *content) : name(key).null();
  }
  Writer& member_or_null(std::string_view key, std::string_view text) {
    return text.empty() ? name(key).null() : member(key, text);
  }

  Layout layout() const { return layout_; }
  std::string take() { return std::move(out_); }

 private:
  static constexpr std::size_t kUsual = 256;  // Bytes that most of what is written fits into.

  Writer& whole(std::uint64_t magnitude, bool is_negative);
  Writer& open(char bracket);
  Writer& close(char bracket);
  bool is_just_opened() const;
  void separate();
  void break_line();

  std::string out_;
  std::size_t depth_ = 0;
  bool after_name_ = false;
  Layout layout_;
};

}  // namespace treaty::json
