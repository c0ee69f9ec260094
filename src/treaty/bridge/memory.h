// What the journal knows of the run that was going on when it was written: the driver goes on from
// there after a crash. Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "treaty/bridge/exchange.h"
#include "treaty/bridge/journal.h"
#include "treaty/bridge/lock.h"

namespace treaty::bridge {

// A question that was put to an agent; its ids let it be taken up again without being asked twice.
struct AskedRequest {
  std::string request_id{};
  std::string session_id{};
  std::string turn_id{};
  std::string agent{};  // Empty: the default one.
  std::string at{};     // RFC 3339.
  bool operator==(const AskedRequest&) const = default;
};

enum class Stage {
  none,     // No run, or it has come to its end.
  started,  // The program was started, and nobody saw it end.
  needs,    // It left with 42; what it asked is to be answered.
  over,     // It left for good, and nobody was told.
};

struct RunMemory {
  Stage stage = Stage::none;
  std::vector<std::string> options{};    // The options of the run itself,
  std::string from{};                    // and where it was given.
  std::vector<std::string> command{};    // What the run drives.
  bool resumed = false;                  // The program was last started with --resume.
  std::optional<Process> program{};      // The one that was started.
  int exit_code = 0;                     // With which it left, when it is over.
  std::map<std::string, int> answers{};  // How often each phase was answered in this run,
  std::set<std::string> answered{};      // and which requests.
};

RunMemory remember_run(std::span<const Entry> entries);

// Asked and neither answered nor given up, by request_id; over all runs.
std::map<std::string, AskedRequest> open_questions(std::span<const Entry> entries);

// Every request that was answered here, ever.
std::set<std::string> answered_requests(std::span<const Entry> entries);

// What answers are counted by: the phase's number, else its file's, else its name.
std::string phase_key(const Exchange& exchange);

}  // namespace treaty::bridge
