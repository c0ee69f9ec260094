// Budgets: what may be spent in a day, what was, and what is set aside for calls on their way. And
// the states of quota pools, which outlive a process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

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

// A quota pool as dispatch wrote it.
struct PoolRecord {
  std::string key{};
  std::string state{};
  bool operator==(const PoolRecord&) const = default;
};

}  // namespace treaty::store
