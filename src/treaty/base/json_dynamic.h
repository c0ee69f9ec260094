// Values that templates and machines compute with: Boost.JSON holds them. It never reads or writes
// them: its parser lets the last of two equal names win and its serializer writes 1.0 as 1E0.
// Whoever only passes values on keeps them as text (json_text.h).
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "treaty/base/json.h"
#include "treaty/base/json_text.h"
#include "treaty/base/json_write.h"

namespace treaty::json {

// Integers that fit stay integers; larger ones become doubles.
boost::json::value to_dynamic(Value value);
boost::json::object to_dynamic_object(Value object);

ObjectText to_text(const boost::json::object& object);

void write(Writer& writer, const boost::json::value& value);
void write(Writer& writer, const boost::json::object& object);

// The text of a value or an object.
std::string to_json(const auto& content, Layout layout = Layout::compact) {
  Writer writer(layout);
  write(writer, content);
  return writer.take();
}

}  // namespace treaty::json
