// A store that fails on command, in front of a real one.
#pragma once

#include <utility>

#include "treaty/testing/stores/forwarding_store.h"

namespace treaty::testing {

class FailingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  int settlings_to_fail = 0;

  store::Task<void> settle(store::Settlement settlement) override {
    if (settlings_to_fail == 0) {
      co_return co_await ForwardingStore::settle(std::move(settlement));
    }
    --settlings_to_fail;
    co_return std::unexpected(Error{ErrorCode::unavailable, "the disk is full"});
  }
};

}  // namespace treaty::testing
