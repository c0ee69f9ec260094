// Budgets: what may be spent in a day, what was spent, and what is reserved for calls on their way.
// See journal.h for threads and errors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "treaty/store/task.h"

namespace treaty::store {

struct Amount {
  std::int64_t tokens = 0;
  std::int64_t picodollars = 0;  // 10^-12 dollars.
  bool operator==(const Amount&) const = default;
};

// A limit of one scope ("agent:default", "tenant:acme") for a day. Absent: unlimited.
struct BudgetLimit {
  std::string scope;
  std::optional<std::int64_t> tokens{};
  std::optional<std::int64_t> picodollars{};
  bool operator==(const BudgetLimit&) const = default;
};

// What a call may take at most: its input, and an output that is cut to what the budgets leave, but
// never below `least_output`.
struct Purchase {
  std::int64_t day = 0;  // Since 1970, UTC.
  std::vector<BudgetLimit> limits{};
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t least_output = 0;  // At most output_tokens.
  std::int64_t input_price = 0;   // Picodollars a token.
  std::int64_t output_price = 0;
};

// Set aside, until settled.
struct Reservation {
  std::int64_t id = 0;
  std::int64_t output_tokens = 0;  // So many were granted.
  Amount amount{};
  bool operator==(const Reservation&) const = default;
};

// The first budget that has not enough left.
struct Exhausted {
  std::string scope{};
  Amount spent{};
  Amount reserved{};           // By calls on their way: some of it may come back.
  bool may_come_back = false;  // Without what is reserved there would be enough.
  bool operator==(const Exhausted&) const = default;
};

using Reserved = std::variant<Reservation, Exhausted>;

struct Spending {
  std::string scope{};
  Amount spent{};
  Amount reserved{};
  std::int64_t calls = 0;
  bool operator==(const Spending&) const = default;
};

class BudgetStore {
 public:
  virtual ~BudgetStore() = default;

  // Sets aside what a call may take, in one durable transaction: the largest output that all of its
  // budgets leave. A refusal sets nothing aside.
  virtual Task<Reserved> reserve(Purchase purchase) = 0;

  // Counts a call and what it took, on the day of the reservation. It may have taken more than was
  // reserved. `not_found` when this process has no such reservation, or it is settled. What a
  // process has not settled when it ends is spent in full.
  virtual Task<void> settle_reservation(std::int64_t id, Amount spent) = 0;

  virtual Task<std::vector<Spending>> spending(std::int64_t day) = 0;  // By scope.
};

}  // namespace treaty::store
