// How an execution ended, or why it stands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "treaty/base/error.h"
#include "treaty/machines/machine.h"

namespace treaty::machines {

enum class Status : std::uint8_t {
  completed,
  failed,       // `error` says why.
  waiting,      // For a signal on `channel`.
  interrupted,  // Somebody stopped it; it goes on when it is resumed.
  lost,         // The store did not take a step, or another runner has the execution.
};

std::string_view name_of(Status status);

struct Outcome {
  Status status = Status::completed;
  std::string execution{};
  Dynamic output = Object();
  Object error{};  // Of a failure: code, type, message, retryable, state.
  std::vector<std::string> path{};
  std::int64_t calls = 0;  // Of agents, children's included.
  std::vector<double> waits{};
  std::string channel{};
  List tool_calls{};  // That whoever is outside has to answer, each with its `key`.
  Error trouble{};    // Of one that is lost.
};

}  // namespace treaty::machines
