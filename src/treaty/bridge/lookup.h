// Where a program keeps its requests when it does not write them where it was started.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "treaty/bridge/exchange.h"
#include "treaty/bridge/journal.h"
#include "treaty/bridge/questions.h"

namespace treaty::bridge {

struct StartingPoint {
  std::string here{};              // Absolute, without links.
  std::string home{};              // $HOME, and
  std::string agentecflow_home{};  // $AGENTECFLOW_HOME; empty when it is not set.
};

// $AGENTECFLOW_HOME/state, ~/.agentecflow/state, then the directories above, up to the first that
// has a .git or is $HOME. Without those that do not exist, and without the starting point.
std::vector<std::string> places_of_requests(const StartingPoint& start);

// The request was answered, and its program has taken the answer: no command needs to look at it.
// Pure.
bool is_settled(const Exchange& exchange, std::span<const Entry> journal,
                const AnsweredQuestions& answered);

// The exchanges of a directory that have a request of this user, without those that are settled.
std::vector<Exchange> unsettled_exchanges(const std::string& directory);

bool has_waiting_request(const std::string& directory);

// The first of these places with a request that waits; else one with any request that is not
// settled, the directories above before the others.
struct FoundRequest {
  std::string directory{};
  bool waits = false;
};
std::optional<FoundRequest> find_request(const StartingPoint& start);

// A place with a journal of this user, the directories above before the others.
std::optional<std::string> find_journal(const StartingPoint& start);

// The request files of this user in some directories, by their absolute paths.
using RequestFiles = std::map<std::string, FileVersion>;
RequestFiles request_files_in(std::span<const std::string> directories);

// The directory of the first request that is new, or was written again, since `before`. Pure.
std::optional<std::string> place_of_new_request(const RequestFiles& before,
                                                const RequestFiles& after);

}  // namespace treaty::bridge
