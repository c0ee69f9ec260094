#include "treaty/store/sqlite/budgets.h"

#include <optional>

#include "treaty/store/grants.h"
#include "treaty/store/sqlite/opening.h"

namespace treaty::store::sqlite {
namespace {

constexpr Milliseconds kPoolKept = Milliseconds{60} * 24 * 60 * 60 * 1000;

// A row of `spending`.
struct Sums : DaySums {
  bool is_new = false;
};

// What a reservation has added to the sums of a scope.
struct Share {
  std::string scope{};
  Amount amount{};
};

struct OpenReservation {
  std::int64_t id = 0;
  std::int64_t day = 0;
};

// Nothing here is negative, unless somebody has changed the file by hand.
Amount read_amount(Statement& row) {
  const std::int64_t tokens = row.integer();
  return without_negatives({.tokens = tokens, .picodollars = row.integer()});
}

Sums read_sums(Database& database, std::int64_t day, const std::string& scope) {
  Statement row(database,
                "SELECT tokens, picodollars, reserved_tokens, reserved_picodollars, calls "
                "FROM spending WHERE day = ? AND scope = ?",
                day, scope);
  Sums sums;
  sums.is_new = !row.next();
  if (sums.is_new) return sums;
  sums.spent = read_amount(row);
  sums.reserved = read_amount(row);
  sums.calls = row.integer();
  return sums;
}

// At the first row of a day. Days are counted and not compared with that one: a clock that leaps
// ahead for a moment does not take what was spent today.
void forget_old_days(Database& database, std::int64_t day) {
  Statement others(database, "SELECT 1 FROM spending WHERE day = ? LIMIT 1", day);
  if (others.next()) return;
  // A statement of its own: as a part of the other one SQLite 3.40 takes no notice of the OFFSET.
  Statement oldest(database, "SELECT DISTINCT day FROM spending ORDER BY day DESC LIMIT 1 OFFSET ?",
                   kDaysKept - 1);
  if (!oldest.next()) return;
  Statement(database, "DELETE FROM spending WHERE day <= ?", oldest.integer()).run();
}

void write_sums(Database& database, std::int64_t day, const std::string& scope, const Sums& sums) {
  if (sums.is_new) forget_old_days(database, day);
  Statement(database, "INSERT OR REPLACE INTO spending VALUES (?, ?, ?, ?, ?, ?, ?)", day, scope,
            sums.spent.tokens, sums.spent.picodollars, sums.reserved.tokens,
            sums.reserved.picodollars, sums.calls)
      .run();
}

std::vector<BudgetAccount> accounts_of(Database& database, const Purchase& purchase) {
  std::vector<BudgetAccount> accounts;
  for (const BudgetLimit& limit : purchase.limits) {
    const Sums sums = read_sums(database, purchase.day, limit.scope);
    accounts.push_back({.limit = limit, .spent = sums.spent, .reserved = sums.reserved});
  }
  return accounts;
}

void set_aside(Database& database, std::int64_t id, std::int64_t day, const std::string& scope,
               const Amount& amount) {
  Sums sums = read_sums(database, day, scope);
  const Amount share = store::set_aside(sums, amount);
  Statement(database, "INSERT OR IGNORE INTO shares VALUES (?, ?, ?, ?)", id, scope, share.tokens,
            share.picodollars)
      .run();
  if (database.has_failed() || database.changes() == 0) return;  // Two limits of one scope.
  write_sums(database, day, scope, sums);
}

void write_reservation(const Transaction& transaction, const Purchase& purchase,
                       Reservation& reservation) {
  Statement(transaction.database, "INSERT INTO reservations (owner, day) VALUES (?, ?)",
            transaction.owner, purchase.day)
      .run();
  reservation.id = transaction.database.last_row();
  for (const BudgetLimit& limit : purchase.limits) {
    set_aside(transaction.database, reservation.id, purchase.day, limit.scope, reservation.amount);
  }
}

std::vector<Share> shares_of(Database& database, std::int64_t id) {
  std::vector<Share> shares;
  Statement rows(database, "SELECT scope, tokens, picodollars FROM shares WHERE reservation = ?",
                 id);
  while (rows.next()) {
    Share share;
    share.scope = rows.text();
    share.amount = read_amount(rows);
    shares.push_back(std::move(share));
  }
  return shares;
}

// Without `spent`: all that was set aside.
void spend(Database& database, const OpenReservation& reservation,
           const std::optional<Amount>& spent) {
  for (const Share& share : shares_of(database, reservation.id)) {
    Sums sums = read_sums(database, reservation.day, share.scope);
    store::spend(sums, share.amount, spent);
    write_sums(database, reservation.day, share.scope, sums);
  }
  Statement(database, "DELETE FROM shares WHERE reservation = ?", reservation.id).run();
  Statement(database, "DELETE FROM reservations WHERE id = ?", reservation.id).run();
}

bool may_come_back(const Reserved& reserved) {
  const auto* exhausted = std::get_if<Exhausted>(&reserved);
  return exhausted != nullptr && exhausted->may_come_back;
}

std::optional<std::int64_t> day_of(const Transaction& transaction, std::int64_t id) {
  Statement row(transaction.database, "SELECT day FROM reservations WHERE id = ? AND owner = ?", id,
                transaction.owner);
  return row.next() ? std::optional(row.integer()) : std::nullopt;
}

}  // namespace

std::expected<Reserved, Error> reserve(const Transaction& transaction, const Purchase& purchase) {
  if (transaction.owner == 0) return std::unexpected(conflict("this process does not run turns"));
  Database& database = transaction.database;
  Reserved answer = grant(purchase, accounts_of(database, purchase));
  if (may_come_back(answer) && spend_abandoned(database, transaction.is_gone)) {
    answer = grant(purchase, accounts_of(database, purchase));
  }
  if (auto* reservation = std::get_if<Reservation>(&answer)) {
    write_reservation(transaction, purchase, *reservation);
  }
  return answer;
}

std::expected<void, Error> settle_reservation(const Transaction& transaction, std::int64_t id,
                                              Amount spent) {
  const auto day = day_of(transaction, id);
  if (transaction.database.has_failed()) return {};
  if (!day) {
    return fail(ErrorCode::not_found, "there is no such reservation of this process any more");
  }
  spend(transaction.database, {.id = id, .day = *day}, without_negatives(spent));
  return {};
}

void spend_all_of(Database& database, std::int64_t owner) {
  std::vector<OpenReservation> open;
  Statement rows(database, "SELECT id, day FROM reservations WHERE owner = ?", owner);
  while (rows.next()) {
    const std::int64_t id = rows.integer();
    open.push_back({.id = id, .day = rows.integer()});
  }
  for (const OpenReservation& reservation : open) spend(database, reservation, std::nullopt);
}

bool spend_abandoned(Database& database, const IsGone& is_gone) {
  std::vector<std::int64_t> gone;
  Statement rows(database, "SELECT DISTINCT owner FROM reservations");
  while (rows.next()) {
    const std::int64_t owner = rows.integer();
    if (is_gone(owner)) gone.push_back(owner);
  }
  for (const std::int64_t owner : gone) spend_all_of(database, owner);
  return !gone.empty();
}

std::vector<Spending> spending(Database& database, std::int64_t day) {
  if (database.value_of("PRAGMA user_version") < kVersionWithBudgets) return {};
  std::vector<Spending> all;
  Statement rows(database,
                 "SELECT scope, tokens, picodollars, reserved_tokens, reserved_picodollars, calls "
                 "FROM spending WHERE day = ? ORDER BY scope",
                 day);
  while (rows.next()) {
    Spending one;
    one.scope = rows.text();
    one.spent = read_amount(rows);
    one.reserved = read_amount(rows);
    one.calls = rows.integer();
    all.push_back(std::move(one));
  }
  return all;
}

void save_pools(const Transaction& transaction, const std::vector<PoolRecord>& pools) {
  for (const PoolRecord& pool : pools) {
    Statement(transaction.database, "INSERT OR REPLACE INTO pools VALUES (?, ?, ?)", pool.key,
              pool.state, transaction.now)
        .run();
  }
  Statement(transaction.database, "DELETE FROM pools WHERE updated_at < ?",
            transaction.now - kPoolKept)
      .run();
}

std::vector<PoolRecord> pools(Database& database) {
  if (database.value_of("PRAGMA user_version") < kVersionWithBudgets) return {};
  std::vector<PoolRecord> all;
  Statement rows(database, "SELECT \"key\", state FROM pools ORDER BY \"key\"");
  while (rows.next()) {
    std::string key = rows.text();
    all.push_back({.key = std::move(key), .state = rows.text()});
  }
  return all;
}

}  // namespace treaty::store::sqlite
