// Which server asks, told in a request's `context.asked_by`: whether anybody waits for its answer
// can be seen by those who come after a crash.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "treaty/bridge/lock.h"
#include "treaty/contracts/bridge_request.h"

namespace treaty::backends {

constexpr std::string_view kAskedBy = "asked_by";

struct Asker {
  std::string host{};
  bridge::Process process{};
  double until = 0;  // When it will have given up; seconds since 1970.

  // True when it is known that nobody waits: only a process of this very machine can be looked for.
  bool is_gone() const;
};

Asker this_asker(double until);

void set_asker(contracts::BridgeRequest& request, const Asker& asker);

// Nothing when it was not a server that asked.
std::optional<Asker> find_asker(const contracts::BridgeRequest& request);

}  // namespace treaty::backends
