// What a driver does after a program has left with 42. Pure, and so for any thread.
//
//   const auto next = bridge::after_need(exchanges, run, bridge::kDefaultMostResumes);
//   if (const auto* stop = std::get_if<bridge::Stop>(&next)) return tell(stop->fault);
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "treaty/bridge/exchange.h"
#include "treaty/bridge/memory.h"

namespace treaty::bridge {

constexpr int kDefaultMostResumes = 5;

// These requests wait, by their places in the list; they are answered in this order.
struct AnswerRequests {
  std::vector<std::size_t> waiting;
  bool operator==(const AnswerRequests&) const = default;
};

// Everything that was asked is answered, some of it by somebody else.
struct Resume {
  std::vector<std::size_t> found;
  bool operator==(const Resume&) const = default;
};

enum class DriveFault {
  no_request,      // It asked nothing.
  broken_request,  // What it asked cannot be read.
  same_request,    // It was answered, and asks the same again.
  too_many_resumes,
};

struct Stop {
  DriveFault fault;
  std::size_t place = 0;  // The request that is meant, unless there is none.
  bool operator==(const Stop&) const = default;
};

using Next = std::variant<AnswerRequests, Resume, Stop>;

Next after_need(std::span<const Exchange> exchanges, const RunMemory& run, int most_resumes);

}  // namespace treaty::bridge
