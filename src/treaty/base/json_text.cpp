#include "treaty/base/json_text.h"

#include <limits>
#include <utility>

#include "treaty/base/json.h"
#include "treaty/base/json/scan.h"
#include "treaty/base/json_write.h"
#include "treaty/base/pieces.h"
#include "treaty/base/text.h"

namespace treaty::json {
namespace {

// What was in memory is read again, whatever its size and depth.
constexpr ReadOptions kChecked = {.max_size = std::numeric_limits<std::size_t>::max(),
                                  .max_depth = std::numeric_limits<std::size_t>::max(),
                                  .grammar_only = true};

void write_number(Writer& writer, Value value) {
  if (const auto integer = value.integer()) {
    writer.value(*integer);
    return;
  }
  if (const auto large = parse_number<std::uint64_t>(value.source())) {
    writer.value(*large);
  } else {
    writer.value(value.number());
  }
}

std::string compact(Value value) {
  Writer writer;
  write(writer, value);
  return writer.take();
}

// Where a member stands in the text of its object.
struct MemberPlace {
  std::size_t name;   // Its opening quote.
  std::size_t value;  // Behind the colon.
  std::size_t end;    // The comma or brace behind the value.

  std::string_view value_in(std::string_view text) const { return text.substr(value, end - value); }
};

// `at` is the opening quote; the answer is behind the closing one.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    at += plain_run(text.data() + at, text.data() + text.size());
    if (at < text.size() && text[at] == '"') return at + 1;
    if (at < text.size() && text[at] == '\\') ++at;
  }
  return text.size();
}

std::size_t end_of_value(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (depth == 0 && (c == ',' || c == '}')) break;
    at = c == '"' ? end_of_string(text, at) : at + 1;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
  }
  return at;
}

// The text is compact and every string has one spelling: the members are found without reading
// what they hold.
std::optional<MemberPlace> find_place(std::string_view text, std::string_view name) {
  std::string quoted;
  append_quoted(quoted, name);
  for (std::size_t at = 1; at < text.size() && text[at] == '"';) {
    const std::size_t colon = end_of_string(text, at);
    const MemberPlace place{.name = at, .value = colon + 1, .end = end_of_value(text, colon + 1)};
    if (text.substr(at, colon - at) == quoted) return place;
    at = place.end + 1;
  }
  return std::nullopt;
}

// What `take` makes of the member of that name, if the object has it and `is_wanted`.
auto look_up(const ObjectText& object, std::string_view name, bool (Value::*is_wanted)() const,
             auto take) {
  decltype(std::optional(take(std::declval<Value>()))) taken;
  const auto place = find_place(object.text(), name);
  if (!place) return taken;
  const Document document(place->value_in(object.text()), kChecked);
  const auto found = document.root();
  if (found && ((*found).*is_wanted)()) taken = take(*found);
  return taken;
}

}  // namespace

ValueText::ValueText(const std::vector<std::string>& texts) {
  Writer writer;
  writer.begin_array();
  for (const std::string& text : texts) writer.raw(of_string(text));
  text_ = writer.end_array().take();
}

ValueText ValueText::of(Value value) { return ValueText(Checked{compact(value)}); }

ValueText ValueText::written(Writer& writer) { return ValueText(Checked{writer.take()}); }

std::string ValueText::of_decimal(double decimal) { return decimal_text(decimal); }

std::string ValueText::of_string(std::string_view text) {
  std::string out;
  is_utf8(text) ? append_quoted(out, text) : append_quoted(out, repaired_utf8(text));
  return out;
}

ObjectText::ObjectText(std::initializer_list<MemberText> members) {
  for (const MemberText& member : members) add(member.name, member.value);
}

ObjectText ObjectText::of(Value object) {
  ObjectText out;
  out.text_ = compact(object);
  return out;
}

ObjectText ObjectText::written(Writer& writer) {
  ObjectText out;
  out.text_ = writer.take();
  return out;
}

std::optional<ObjectText> ObjectText::parse(std::string_view text) {
  const Document document(text, {.max_size = kChecked.max_size});
  const auto root = document.root();
  if (!document.faults().empty() || !root || !root->is_object()) return std::nullopt;
  return of(*root);
}

Document ObjectText::read() const { return Document(text_, kChecked); }

std::optional<ValueText> ObjectText::find(std::string_view name) const {
  const auto place = find_place(text_, name);
  if (!place) return std::nullopt;
  return ValueText(ValueText::Checked{std::string(place->value_in(text_))});
}

std::optional<std::string> ObjectText::find_text(std::string_view name) const {
  return look_up(*this, name, &Value::is_string, [](Value v) { return std::string(v.text()); });
}

std::optional<std::int64_t> ObjectText::find_integer(std::string_view name) const {
  return look_up(*this, name, &Value::is_number, [](Value v) { return v.integer(); });
}

std::optional<double> ObjectText::find_number(std::string_view name) const {
  return look_up(*this, name, &Value::is_number, [](Value v) { return v.number(); });
}

std::optional<bool> ObjectText::find_boolean(std::string_view name) const {
  return look_up(*this, name, &Value::is_boolean, [](Value v) { return v.boolean(); });
}

std::optional<ObjectText> ObjectText::find_object(std::string_view name) const {
  return look_up(*this, name, &Value::is_object, [](Value v) {
    ObjectText object;
    object.text_ = v.source();
    return object;
  });
}

std::vector<std::string> ObjectText::find_texts(std::string_view name) const {
  std::vector<std::string> texts;
  look_up(*this, name, &Value::is_array, [&](Value array) {
    for (const Value element : array.elements()) {
      if (element.is_string()) texts.emplace_back(element.text());
    }
    return true;
  });
  return texts;
}

void ObjectText::add(std::string_view name, const ValueText& value) {
  empty() ? text_.pop_back() : void(text_.back() = ',');
  text_ += ValueText::of_string(name);
  text_ += ':';
  text_ += value.text();
  text_ += '}';
}

void ObjectText::set(std::string_view name, const ValueText& value) {
  const auto place = find_place(text_, name);
  if (!place) return add(name, value);
  text_.replace(place->value, place->end - place->value, value.text());
}

void ObjectText::erase(std::string_view name) {
  const auto place = find_place(text_, name);
  if (!place) return;
  const bool is_last = text_[place->end] == '}';
  const std::size_t begin = is_last && place->name > 1 ? place->name - 1 : place->name;
  text_.erase(begin, place->end + (is_last ? 0 : 1) - begin);
}

void write(Writer& writer, Value value) {
  switch (value.type()) {
    case Type::null: writer.null(); return;
    case Type::boolean: writer.value(value.boolean()); return;
    case Type::integer:
    case Type::decimal: write_number(writer, value); return;
    case Type::string: writer.value(value.text()); return;
    case Type::object:
      writer.begin_object();
      for (const Member member : value.members()) {
        write(writer.name(member.name.text()), member.value);
      }
      writer.end_object();
      return;
    case Type::array: break;
  }
  writer.array(value.elements(), [&](Value element) { write(writer, element); });
}

void write(Writer& writer, const ObjectText& object) {
  if (writer.layout() == Layout::compact) {
    writer.raw(object.text());
    return;
  }
  const Document document = object.read();
  write(writer, *document.root());
}

}  // namespace treaty::json
