// How a store is opened.
#pragma once

#include <functional>
#include <memory>

#include "treaty/base/clock.h"
#include "treaty/store/store.h"

namespace treaty::store {

struct StoreOptions {
  Purpose purpose = Purpose::run;
  std::shared_ptr<const Clock> clock = system_clock();

  // Called with what an operator should know and no caller asked for: damage that a check in the
  // background has found. Called on a thread of the store; every later write is refused.
  std::function<void(const Error&)> on_damage{};
};

}  // namespace treaty::store
