// How much work one question about a value may take: schemas can be written so that a small value
// costs years.
#pragma once

#include <cstdint>

namespace treaty::schema {

class Budget {
 public:
  explicit Budget(std::int64_t steps) : steps_(steps) {}

  // False when there is nothing left; it stays so.
  bool spend(std::uint64_t steps = 1) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 40U;
    steps_ -= static_cast<std::int64_t>(steps < kMost ? steps : kMost);
    if (steps_ >= 0) return true;
    steps_ = -1;
    return false;
  }
  void end() { steps_ = -1; }
  bool is_spent() const { return steps_ < 0; }

 private:
  std::int64_t steps_;
};

}  // namespace treaty::schema
