// A store that fails on command, in front of a real one. A call that fails does nothing.
#pragma once

#include <optional>
#include <utility>

#include "treaty/testing/stores/forwarding_store.h"

namespace treaty::testing {

class FailingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  int settlings_to_fail = 0;
  bool is_full = false;               // No decision can be written,
  int refused = 0;                    // and so many were refused for that.
  bool is_unreadable = false;         // No list of turns can be read.
  std::optional<int> failing_call{};  // The number, from 0, of the one call that fails.
  int calls = 0;                      // How many there were.

  store::Task<void> settle(store::Settlement settlement) override {
    if (settlings_to_fail > 0) {
      --settlings_to_fail;
      co_return std::unexpected(failure());
    }
    co_return co_await guarded(ForwardingStore::settle(std::move(settlement)));
  }
  store::Task<store::Applied> transact(store::Lookup lookup,
                                       store::ChangeFunction decide) override {
    if (is_full) {
      ++refused;
      co_return std::unexpected(failure());
    }
    co_return co_await guarded(ForwardingStore::transact(std::move(lookup), std::move(decide)));
  }
  store::Task<void> mark_streamed(std::int64_t turn, std::string events) override {
    return guarded(ForwardingStore::mark_streamed(turn, std::move(events)));
  }
  store::Task<std::optional<store::Session>> find_session(store::Room room) override {
    return guarded(ForwardingStore::find_session(std::move(room)));
  }
  store::Task<std::optional<store::TurnRecord>> find_turn(store::Room room,
                                                          std::string turn_id) override {
    return guarded(ForwardingStore::find_turn(std::move(room), std::move(turn_id)));
  }
  store::Task<std::vector<store::Turn>> list_turns(std::int64_t session, std::int64_t after_number,
                                                   std::size_t limit) override {
    if (is_unreadable) co_return std::unexpected(failure());
    co_return co_await ForwardingStore::list_turns(session, after_number, limit);
  }
  store::Task<History> history(std::int64_t session, std::int64_t before_number,
                               std::size_t bytes) override {
    return guarded(ForwardingStore::history(session, before_number, bytes));
  }
  store::Task<store::Reserved> reserve(store::Purchase purchase) override {
    return guarded(ForwardingStore::reserve(std::move(purchase)));
  }
  store::Task<void> settle_reservation(std::int64_t id, store::Amount spent) override {
    return guarded(ForwardingStore::settle_reservation(id, spent));
  }

 private:
  static Error failure() { return {ErrorCode::unavailable, "the disk is full"}; }

  // A call that has not begun yet begins here, or never.
  template <class T>
  store::Task<T> guarded(store::Task<T> call) {
    if (calls++ == failing_call) co_return std::unexpected(failure());
    co_return co_await std::move(call);
  }
};

}  // namespace treaty::testing
