// Where a program keeps its requests when it does not write them where it was started.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace treaty::bridge {

struct StartingPoint {
  std::string here{};              // Absolute, without links.
  std::string home{};              // $HOME, and
  std::string agentecflow_home{};  // $AGENTECFLOW_HOME; empty when it is not set.
};

// $AGENTECFLOW_HOME/state, ~/.agentecflow/state, then the directories above, up to the first that
// has a .git or is $HOME. Without those that do not exist, and without the starting point.
std::vector<std::string> places_of_requests(const StartingPoint& start);

// Whether the directory has a request file, or the journal of a bridge, that belongs to this user.
bool has_request(const std::string& directory);
bool has_journal(const std::string& directory);

// The first of these places with a request that waits; else the first with any request.
struct FoundRequest {
  std::string directory{};
  bool waits = false;
};
std::optional<FoundRequest> find_request(const StartingPoint& start);

// The first of these places with a journal.
std::optional<std::string> find_journal(const StartingPoint& start);

}  // namespace treaty::bridge
