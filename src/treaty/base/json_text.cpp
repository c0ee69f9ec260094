#include "treaty/base/json_text.h"

#include <charconv>
#include <limits>

#include "treaty/base/json.h"
#include "treaty/base/json_write.h"
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
  const std::string_view digits = value.source();
  std::uint64_t large = 0;
  const auto [_, error] = std::from_chars(digits.data(), digits.data() + digits.size(), large);
  if (value.type() == Type::integer && error == std::errc()) {
    writer.value(large);
  } else {
    writer.value(value.number());
  }
}

std::string compact(Value value) {
  Writer writer;
  write(writer, value);
  return writer.take();
}

// Calls `see` with the member of that name, if the object has it.
void look_up(const ObjectText& object, std::string_view name, auto see) {
  const Document document = object.read();
  if (const auto found = document.root()->members().find(name)) see(*found);
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
  std::optional<ValueText> out;
  look_up(*this, name,
          [&](Value found) { out = ValueText(ValueText::Checked{std::string(found.source())}); });
  return out;
}

std::optional<std::string> ObjectText::find_text(std::string_view name) const {
  std::optional<std::string> out;
  look_up(*this, name, [&](Value found) {
    if (found.is_string()) out = std::string(found.text());
  });
  return out;
}

std::optional<std::int64_t> ObjectText::find_integer(std::string_view name) const {
  std::optional<std::int64_t> out;
  look_up(*this, name, [&](Value found) {
    if (found.is_number()) out = found.integer();
  });
  return out;
}

std::optional<double> ObjectText::find_number(std::string_view name) const {
  std::optional<double> out;
  look_up(*this, name, [&](Value found) {
    if (found.is_number()) out = found.number();
  });
  return out;
}

std::optional<bool> ObjectText::find_boolean(std::string_view name) const {
  std::optional<bool> out;
  look_up(*this, name, [&](Value found) {
    if (found.is_boolean()) out = found.boolean();
  });
  return out;
}

std::optional<ObjectText> ObjectText::find_object(std::string_view name) const {
  std::optional<ObjectText> out;
  look_up(*this, name, [&](Value found) {
    if (found.is_object()) out.emplace().text_ = found.source();
  });
  return out;
}

std::vector<std::string> ObjectText::find_texts(std::string_view name) const {
  std::vector<std::string> out;
  look_up(*this, name, [&](Value found) {
    if (!found.is_array()) return;
    for (const Value element : found.elements()) {
      if (element.is_string()) out.emplace_back(element.text());
    }
  });
  return out;
}

void ObjectText::add(std::string_view name, const ValueText& value) {
  text_.back() = text_.size() == 2 ? ' ' : ',';
  if (text_.back() == ' ') text_.pop_back();
  text_ += ValueText::of_string(name);
  text_ += ':';
  text_ += value.text();
  text_ += '}';
}

void ObjectText::set(std::string_view name, const ValueText& value) {
  std::size_t begin = 0;
  std::size_t end = 0;
  look_up(*this, name, [&](Value found) {
    begin = found.begin();
    end = found.end();
  });
  begin == end ? add(name, value) : void(text_.replace(begin, end - begin, value.text()));
}

void ObjectText::erase(std::string_view name) {
  Writer writer;
  writer.begin_object();
  const Document document = read();
  for (const Member member : document.root()->members()) {
    if (member.name.text() == name) continue;
    writer.name(member.name.text()).raw(member.value.source());
  }
  std::string rest = writer.end_object().take();
  text_ = std::move(rest);
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
  writer.begin_array();
  for (const Value element : value.elements()) write(writer, element);
  writer.end_array();
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
