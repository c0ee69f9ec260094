#include "treaty/machines/machine.h"

#include <algorithm>

namespace treaty::machines {

const State* Machine::find(std::string_view state) const {
  const auto found = std::ranges::find(states, state, &State::name);
  return found == states.end() ? nullptr : &*found;
}

}  // namespace treaty::machines
