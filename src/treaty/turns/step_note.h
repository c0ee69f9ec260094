// Something that a step did on its own, told in the session's events.
#pragma once

#include <string>

namespace treaty::turns {

struct StepNote {
  std::string kind;  // Of an event: "tool.refused", "tool.suppressed", "sealed".
  std::string data;  // A JSON object.
  bool operator==(const StepNote&) const = default;
};

}  // namespace treaty::turns
