#include "treaty/base/json_dynamic.h"

#include <boost/json/array.hpp>

#include "treaty/base/pieces.h"

namespace treaty::json {
namespace {

boost::json::value to_dynamic_number(Value value) {
  if (const auto integer = value.integer()) return *integer;
  if (const auto large = parse_number<std::uint64_t>(value.source())) return *large;
  return value.number();
}

}  // namespace

boost::json::value to_dynamic(Value value) {
  switch (value.type()) {
    case Type::null: return nullptr;
    case Type::boolean: return value.boolean();
    case Type::integer:
    case Type::decimal: return to_dynamic_number(value);
    case Type::string: return boost::json::string(value.text());
    case Type::object: return to_dynamic_object(value);
    case Type::array: break;
  }
  boost::json::array array;
  for (const Value element : value.elements()) array.push_back(to_dynamic(element));
  return array;
}

boost::json::object to_dynamic_object(Value object) {
  boost::json::object out;
  for (const Member member : object.members()) {
    out.emplace(member.name.text(), to_dynamic(member.value));
  }
  return out;
}

ObjectText to_text(const boost::json::object& object) {
  Writer writer;
  write(writer, object);
  return ObjectText::written(writer);
}

void write(Writer& writer, const boost::json::object& object) {
  writer.begin_object();
  for (const auto& member : object) {
    writer.name(member.key());
    write(writer, member.value());
  }
  writer.end_object();
}

void write(Writer& writer, const boost::json::value& value) {
  switch (value.kind()) {
    case boost::json::kind::null: writer.null(); return;
    case boost::json::kind::bool_: writer.value(value.get_bool()); return;
    case boost::json::kind::int64: writer.value(value.get_int64()); return;
    case boost::json::kind::uint64: writer.value(value.get_uint64()); return;
    case boost::json::kind::double_: writer.value(value.get_double()); return;
    case boost::json::kind::string: writer.value(std::string_view(value.get_string())); return;
    case boost::json::kind::object: write(writer, value.get_object()); return;
    case boost::json::kind::array: break;
  }
  writer.array(value.get_array(), [&](const auto& element) { write(writer, element); });
}

}  // namespace treaty::json
