// Members of events, where whoever asks is content with nothing when one is missing or of another
// type.
#pragma once

#include <boost/json/object.hpp>
#include <string_view>

namespace treaty::machines {

// A member of that name that is a string; else "".
inline std::string_view text_in(const boost::json::object& holder, std::string_view name) {
  const boost::json::value* found = holder.if_contains(name);
  if (found == nullptr || !found->is_string()) return {};
  return {found->get_string().data(), found->get_string().size()};
}

// One that is an object; else null.
inline const boost::json::object* object_in(const boost::json::object& holder,
                                            std::string_view name) {
  const boost::json::value* found = holder.if_contains(name);
  return found == nullptr ? nullptr : found->if_object();
}

// Whether it is true.
inline bool flag_in(const boost::json::object& holder, std::string_view name) {
  const boost::json::value* found = holder.if_contains(name);
  return found != nullptr && found->is_bool() && found->get_bool();
}

}  // namespace treaty::machines
