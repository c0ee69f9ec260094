// Budgets and quota pools in memory.
#include <ranges>

#include "treaty/testing/stores/memory_tables.h"

namespace treaty::store {
namespace {

constexpr Milliseconds kPoolKept = Milliseconds{60} * 24 * 60 * 60 * 1000;

}  // namespace

Reserved MemoryTables::reserve(const Purchase& purchase, const WriterIdentity& writer) {
  Reserved answer = grant(purchase, accounts_of(purchase));
  const auto* exhausted = std::get_if<Exhausted>(&answer);
  if (exhausted != nullptr && exhausted->may_come_back && spend_abandoned(writer.owner)) {
    answer = grant(purchase, accounts_of(purchase));
  }
  if (auto* reservation = std::get_if<Reservation>(&answer)) {
    reservation->id = ++last_reservation_;
    OpenReservation open{.owner = writer.owner, .day = purchase.day};
    for (const BudgetLimit& limit : purchase.limits) {
      if (open.shares.contains(limit.scope)) continue;  // Two limits of one scope.
      open.shares[limit.scope] = set_aside(sums_of(purchase.day, limit.scope), reservation->amount);
    }
    reservations_[reservation->id] = std::move(open);
  }
  return answer;
}

std::expected<void, Error> MemoryTables::settle_reservation(std::int64_t id, const Amount& spent,
                                                            const WriterIdentity& writer) {
  const auto found = reservations_.find(id);
  if (found == reservations_.end() || found->second.owner != writer.owner) {
    return std::unexpected(
        Error{ErrorCode::not_found, "there is no such reservation of this process any more"});
  }
  spend_reservation(id, without_negatives(spent));
  return {};
}

std::vector<Spending> MemoryTables::spending(std::int64_t day) const {
  std::vector<Spending> all;
  for (const auto& [key, sums] : sums_) {
    if (key.first != day) continue;
    all.push_back(
        {.scope = key.second, .spent = sums.spent, .reserved = sums.reserved, .calls = sums.calls});
  }
  return all;
}

std::vector<BudgetAccount> MemoryTables::accounts_of(const Purchase& purchase) const {
  std::vector<BudgetAccount> accounts;
  for (const BudgetLimit& limit : purchase.limits) {
    BudgetAccount account{.limit = limit};
    if (const auto found = sums_.find({purchase.day, limit.scope}); found != sums_.end()) {
      account.spent = found->second.spent;
      account.reserved = found->second.reserved;
    }
    accounts.push_back(std::move(account));
  }
  return accounts;
}

DaySums& MemoryTables::sums_of(std::int64_t day, const std::string& scope) {
  std::set<std::int64_t> days;
  for (const auto& [key, sums] : sums_) days.insert(key.first);
  // The first row of a day: one of the older days may have to go.
  if (!days.contains(day) && static_cast<std::int64_t>(days.size()) >= kDaysKept) {
    const std::int64_t oldest = *std::prev(days.end(), kDaysKept);
    std::erase_if(sums_, [&](const auto& entry) { return entry.first.first <= oldest; });
  }
  return sums_[{day, scope}];
}

bool MemoryTables::spend_abandoned(std::int64_t owner) {
  std::set<std::int64_t> gone;
  for (const auto& [id, reservation] : reservations_) {
    if (reservation.owner != owner && !owners_.contains(reservation.owner)) {
      gone.insert(reservation.owner);
    }
  }
  for (const std::int64_t one : gone) spend_all_of(one);
  return !gone.empty();
}

void MemoryTables::spend_all_of(std::int64_t owner) {
  std::vector<std::int64_t> ids;
  for (const auto& [id, reservation] : reservations_) {
    if (reservation.owner == owner) ids.push_back(id);
  }
  for (const std::int64_t id : ids) spend_reservation(id, std::nullopt);
}

void MemoryTables::spend_reservation(std::int64_t id, const std::optional<Amount>& spent) {
  const OpenReservation& reservation = reservations_[id];
  for (const auto& [scope, share] : reservation.shares) {
    spend(sums_of(reservation.day, scope), share, spent);
  }
  reservations_.erase(id);
}

void MemoryTables::save_pools(std::vector<PoolRecord> pools, Milliseconds now) {
  for (PoolRecord& pool : pools) pools_[pool.key] = {std::move(pool.state), now};
  std::erase_if(pools_, [&](const auto& entry) { return entry.second.saved_at < now - kPoolKept; });
}

std::vector<PoolRecord> MemoryTables::pools() const {
  std::vector<PoolRecord> all;
  all.reserve(pools_.size());
  for (const auto& [key, pool] : pools_) all.push_back({.key = key, .state = pool.state});
  return all;
}

}  // namespace treaty::store
