// Goes through an array that may not be there.
//
//   for (const json::Value tool : json::elements_of(json::find_member(root, "tools"))) …
#pragma once

#include <optional>

#include "treaty/base/json.h"

namespace treaty::json {

// The elements of an array; none of everything else.
inline Elements elements_of(std::optional<Value> array) {
  static const Document empty("[]");
  return (array && array->is_array() ? *array : *empty.root()).elements();
}

}  // namespace treaty::json
