// How a store is opened.
#pragma once

#include <functional>

#include "treaty/store/store.h"

namespace treaty::store {

Milliseconds system_now();  // By the system's clock.

struct StoreOptions {
  Purpose purpose = Purpose::run;
  std::function<Milliseconds()> now{};  // Absent: the system's clock. Called on any thread.

  // Called with what an operator should know and no caller asked for: damage that a check in the
  // background has found. Called on a thread of the store; every later write is refused.
  std::function<void(const Error&)> on_damage{};
};

}  // namespace treaty::store
