// A store in which every decision runs twice, as changes.h allows. A caller must not notice.
#pragma once

#include <functional>
#include <utility>

#include "treaty/testing/stores/forwarding_store.h"

namespace treaty::testing {

class RepeatingStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  // What the first run sees, made from what the second one sees. Absent: the same. A different view
  // stands for a change that another process commits between the runs.
  std::function<store::View(const store::View&)> first_view{};

  store::Task<store::Applied> transact(store::Lookup lookup,
                                       store::ChangeFunction decide) override {
    return ForwardingStore::transact(std::move(lookup),
                                     [this, decide = std::move(decide)](const store::View& view) {
                                       decide(first_view ? first_view(view) : view);
                                       return decide(view);
                                     });
  }
};

}  // namespace treaty::testing
