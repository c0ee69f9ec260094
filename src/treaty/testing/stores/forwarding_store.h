// A store that passes every call on to another one: the base of stores that change a few calls.
#pragma once

#include <utility>

#include "treaty/store/store.h"

namespace treaty::testing {

class ForwardingStore : public store::Store {
 public:
  explicit ForwardingStore(store::Store& store) : store_(store) {}

  store::Task<store::Applied> transact(store::Lookup lookup,
                                       store::ChangeFunction decide) override {
    return store_.transact(std::move(lookup), std::move(decide));
  }
  store::Task<void> settle(store::Settlement settlement) override {
    return store_.settle(std::move(settlement));
  }
  store::Task<void> mark_streamed(std::int64_t turn, std::string events) override {
    return store_.mark_streamed(turn, std::move(events));
  }
  store::Task<std::optional<store::Session>> find_session(store::Room room) override {
    return store_.find_session(std::move(room));
  }
  store::Task<std::string> solution_context(std::int64_t session) override {
    return store_.solution_context(session);
  }
  store::Task<std::vector<store::Session>> list_sessions(store::SessionQuery query) override {
    return store_.list_sessions(std::move(query));
  }
  store::Task<std::optional<store::TurnRecord>> find_turn(store::Room room,
                                                          std::string turn_id) override {
    return store_.find_turn(std::move(room), std::move(turn_id));
  }
  store::Task<std::vector<store::Turn>> list_turns(std::int64_t session, std::int64_t after_number,
                                                   std::size_t limit) override {
    return store_.list_turns(session, after_number, limit);
  }
  store::Task<History> history(std::int64_t session, std::int64_t before_number,
                               std::size_t bytes) override {
    return store_.history(session, before_number, bytes);
  }
  store::Task<std::vector<store::EventRow>> events(std::int64_t session, std::int64_t from_number,
                                                   std::size_t limit) override {
    return store_.events(session, from_number, limit);
  }
  store::Task<std::vector<store::Abandoned>> claim_abandoned(
      Diary diary, std::optional<std::int64_t> turn) override {
    return store_.claim_abandoned(std::move(diary), turn);
  }
  store::Task<std::vector<Overdue>> overdue(store::Milliseconds now, std::size_t limit) override {
    return store_.overdue(now, limit);
  }
  store::Task<bool> delete_session(store::Room room) override {
    return store_.delete_session(std::move(room));
  }
  store::Task<void> delete_leftovers() override { return store_.delete_leftovers(); }
  store::Task<store::Session> branch(store::Room from, std::string turn_id,
                                     std::string into) override {
    return store_.branch(std::move(from), std::move(turn_id), std::move(into));
  }
  store::Task<store::Pruned> prune(store::Milliseconds before,
                                   std::optional<std::string> tenant) override {
    return store_.prune(before, std::move(tenant));
  }
  store::Task<store::Pruned> prunable(store::Milliseconds before,
                                      std::optional<std::string> tenant) override {
    return store_.prunable(before, std::move(tenant));
  }
  store::Task<store::Reserved> reserve(store::Purchase purchase) override {
    return store_.reserve(std::move(purchase));
  }
  store::Task<void> settle_reservation(std::int64_t id, store::Amount spent) override {
    return store_.settle_reservation(id, spent);
  }
  store::Task<std::vector<store::Spending>> spending(std::int64_t day) override {
    return store_.spending(day);
  }
  store::Task<void> save_pools(std::vector<store::PoolRecord> pools) override {
    return store_.save_pools(std::move(pools));
  }
  store::Task<std::vector<store::PoolRecord>> pools() override { return store_.pools(); }
  store::MachineStore& machines() override { return store_.machines(); }
  store::Task<void> probe() override { return store_.probe(); }

 private:
  store::Store& store_;
};

}  // namespace treaty::testing
