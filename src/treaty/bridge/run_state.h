// What the journal knows of the run that was going on when it was written: the driver goes on from
// there after a crash. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "treaty/bridge/exchange.h"
#include "treaty/bridge/journal.h"
#include "treaty/bridge/lock.h"
#include "treaty/bridge/questions.h"

namespace treaty::bridge {

// A question that was put to an agent; its ids let it be taken up again without being asked twice.
struct AskedRequest {
  std::string request_id{};
  std::string session_id{};
  std::string turn_id{};
  std::string agent{};                 // Empty: the default one.
  std::string at{};                    // RFC 3339.
  std::vector<std::string> options{};  // Options that chose the agent, from the command that asked,
  std::string from{};                  // and the directory of that command.
  bool operator==(const AskedRequest&) const = default;
};

enum class Stage {
  none,     // No run, or it has come to its end.
  started,  // The program was started, and nobody saw it end.
  needs,    // It left with 42; what it asked is to be answered.
  over,     // It left for good, and nobody was told.
};

struct RunState {
  Stage stage = Stage::none;
  std::vector<std::string> options{};    // The options of the run itself,
  std::string from{};                    // and where it was given.
  std::vector<std::string> command{};    // What the run drives.
  bool resumed = false;                  // The program was last started with --resume.
  std::optional<Process> program{};      // The one that was started.
  int exit_code = 0;                     // With which it left, when it is over.
  std::map<std::string, int> answers{};  // How often each phase was answered in this run,
  AnsweredQuestions answered{};          // and which requests.
};

RunState replay_run(std::span<const Entry> entries);

// Asked and neither answered nor given up, by request_id; over all runs.
std::map<std::string, AskedRequest> open_requests(std::span<const Entry> entries);

// How a request was asked last, whether or not it was answered.
std::optional<AskedRequest> last_asked(std::span<const Entry> entries, std::string_view request_id);

// What answers are counted by: the phase's number, else its file's, else its name.
std::string phase_key(const Exchange& exchange);

// What a driver does after a program has left with 42:
//
//   const auto next = bridge::after_need(exchanges, run, bridge::kDefaultMostResumes);
//   if (const auto* stop = std::get_if<bridge::Stop>(&next)) return tell(stop->fault);
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

Next after_need(std::span<const Exchange> exchanges, const RunState& run, int most_resumes);

}  // namespace treaty::bridge
