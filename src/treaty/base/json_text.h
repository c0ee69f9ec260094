// JSON that is kept as text: the members whose shape a contract leaves open (metadata, context,
// output). The text is valid, compact JSON in UTF-8 with one spelling for each string and number,
// so that equal bytes mean equal values. Nobody who only passes it on pays for reading it.
//
//   json::ObjectText metadata = {{"agent", "reviewer"}, {"input_tokens", 12}};
//   metadata.set("model", model);
//   if (const auto agent = metadata.find_text("agent")) use(*agent);
//   const json::Document document = metadata.read();  // To look at many members.
//
// These are values: one object must not be written and read by two threads at a time.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace treaty::json {

class Document;
class ObjectText;
class Value;
class Writer;

// Any JSON value. It is made implicitly from what it can hold. Bytes of a text that are not UTF-8
// become U+FFFD; a number that is not finite becomes null.
class ValueText {
 public:
  ValueText(std::nullptr_t) : text_("null") {}
  template <std::integral Integer>
    requires(!std::same_as<Integer, bool>)
  ValueText(Integer integer) : text_(std::to_string(integer)) {}
  ValueText(std::same_as<bool> auto boolean) : text_(boolean ? "true" : "false") {}
  ValueText(std::same_as<double> auto decimal) : text_(of_decimal(decimal)) {}
  template <class Text>
    requires std::convertible_to<const Text&, std::string_view>
  ValueText(const Text& text) : text_(of_string(text)) {}
  template <std::same_as<ObjectText> Object>
  ValueText(Object object) : text_(std::move(object).take()) {}
  ValueText(const std::vector<std::string>& texts);  // An array.

  static ValueText of(Value value);          // Which was read without a fault.
  static ValueText written(Writer& writer);  // Takes the value that was written.

  const std::string& text() const { return text_; }
  bool operator==(const ValueText&) const = default;

 private:
  friend class ObjectText;
  struct Checked {
    std::string text;
  };
  explicit ValueText(Checked checked) : text_(std::move(checked.text)) {}
  static std::string of_decimal(double decimal);
  static std::string of_string(std::string_view text);

  std::string text_;
};

struct MemberText {
  std::string_view name;
  ValueText value;
};

// A JSON object. Its members keep their order. Every look-up reads the text again; see read().
class ObjectText {
 public:
  ObjectText() = default;                                 // {}
  ObjectText(std::initializer_list<MemberText> members);  // Their names differ.
  static ObjectText of(Value object);                     // Which was read without a fault.
  static ObjectText written(Writer& writer);              // Takes the object that was written.
  static std::optional<ObjectText> parse(std::string_view text);  // Unless it is no valid object.

  const std::string& text() const { return text_; }
  std::string take() && { return std::exchange(text_, kEmpty); }
  bool empty() const { return text_ == kEmpty; }
  bool operator==(const ObjectText&) const = default;

  // The members as values, for as long as this object lives unchanged. There is always a root.
  Document read() const;

  bool contains(std::string_view name) const { return find(name).has_value(); }
  std::optional<ValueText> find(std::string_view name) const;
  // Nothing when the member is not there, and when it is of another type.
  std::optional<std::string> find_text(std::string_view name) const;
  std::optional<std::int64_t> find_integer(std::string_view name) const;
  std::optional<double> find_number(std::string_view name) const;
  std::optional<bool> find_boolean(std::string_view name) const;
  std::optional<ObjectText> find_object(std::string_view name) const;
  std::vector<std::string> find_texts(std::string_view name) const;  // The strings of an array.

  // Appends a member, whose name must be new.
  void add(std::string_view name, const ValueText& value);
  // Replaces the member's value in its place, or appends it.
  void set(std::string_view name, const ValueText& value);
  void erase(std::string_view name);

 private:
  static constexpr const char* kEmpty = "{}";

  std::string text_ = kEmpty;
};

// Writes the value in the layout of the writer. A value of a document is written in its one
// spelling: without needless escapes, integers beyond 64 bits as decimals.
void write(Writer& writer, Value value);
void write(Writer& writer, const ObjectText& object);

}  // namespace treaty::json
