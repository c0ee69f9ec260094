// What an execution has done, step by step, for those who look at it.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "treaty/machines/journal/history.h"

namespace treaty::machines {

struct CallAccount {
  std::string agent{};
  std::string finish_reason{};
  Object error{};  // Empty: none.
};

struct StepAccount {
  std::int64_t step = 0;
  std::string state{};
  std::vector<CallAccount> calls{};
  std::vector<std::string> tools{};
  std::vector<double> waits{};      // Seconds.
  std::vector<Outcome> children{};  // Those that have ended.
  std::optional<Dynamic> signal{};  // That it waited for.
  std::string redirect{};           // A hook's.
};

struct Account {
  Beginning beginning{};
  std::vector<StepAccount> steps{};
  std::optional<Outcome> ended{};  // The newest end: of one that failed and goes on, the failure.
};

// How it began; nothing when the journal does not tell.
std::optional<Beginning> read_beginning(const std::vector<std::string>& lines);

// The error is for people.
std::expected<Account, std::string> read_account(const std::vector<std::string>& lines);

}  // namespace treaty::machines
