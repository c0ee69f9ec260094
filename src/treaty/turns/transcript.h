// What model and tools said in a round, as the journal keeps it: messages after the request's own,
// the usage so far, and how often each call was made (for the loop guard).
#pragma once

#include <expected>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/backends/call.h"
#include "treaty/base/error.h"
#include "treaty/contracts/agent_execute_response.h"

namespace treaty::turns {

// What a turn has spent and done so far, all its rounds together.
struct Progress {
  std::optional<contracts::Usage> usage{};
  double cost = 0;
  int tool_rounds = 0;
  std::map<std::string, int> calls{};  // By name and a digest of the arguments: how often made.
  std::set<std::string, std::less<>> call_ids{};  // No two calls of a turn have the same.
  bool was_continued = false;  // An answer was cut, and another backend went on with it.
  bool operator==(const Progress&) const = default;
};

// Who wrote thoughts (backends::Call::author).
using Authors = std::set<std::string, std::less<>>;

struct Transcript {
  std::vector<backends::Message> messages{};
  Progress progress{};  // At the end of the round; journalled only when another may follow.
  Authors refused{};    // Authors that refused their earlier thoughts; those are not sent again.
  bool operator==(const Transcript&) const = default;
};

std::string encode(const Transcript& transcript);

// Only what encode() wrote, white space aside; anything else is `corrupt`.
std::expected<Transcript, Error> decode_transcript(std::string_view json);

}  // namespace treaty::turns
