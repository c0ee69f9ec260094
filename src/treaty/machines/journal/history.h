// The journal of an execution: lines as they are written, and what a runner that goes on reads out
// of them. What is journalled is not asked for again.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/base/error.h"
#include "treaty/machines/agents.h"
#include "treaty/machines/machine.h"
#include "treaty/store/machines.h"

namespace treaty::machines {

enum class Status : std::uint8_t {
  completed,
  failed,       // `error` says why.
  waiting,      // For a signal on `channel`.
  interrupted,  // Somebody stopped it; it goes on when it is resumed.
  lost,         // The store did not take a step, or another runner has the execution.
};

std::string_view name_of(Status status);

// How an execution ended, or why it stands.
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
  // What its calls in this round have cost, those of earlier processes and of children included:
  // objects of `usage` and `cost`.
  std::vector<Object> paid{};
};

// The end of a state's work, from which its transitions go on.
struct StateExit {
  Dynamic result{};  // The AgentResult; null without an agent.
  Dynamic output = Object();
  std::optional<std::string> redirect{};  // A hook's.
  std::optional<std::string> left_to{};   // A transition that was taken within the tool loop.
};

// --- Lines

// Contexts within contexts: what is deeper is neither written nor read.
constexpr std::size_t kDeepestLine = 1000;

struct Beginning {
  std::string text{};       // Of the machine.
  std::string directory{};  // Where its paths start.
  Object input{};
  std::string parent{};
  std::int64_t depth = 0;
};

std::string line_of(const Beginning& beginning);
// A process begins to run it, or resumes it, in that round of the turn.
std::string run_line(std::string_view process, std::int64_t round);
std::string entered_line(std::int64_t step, std::string_view state);
std::string call_line(std::int64_t step, std::int64_t number, std::string_view agent,
                      const Object& result);
std::string action_line(std::int64_t step, const List& replies);
std::string signal_line(std::int64_t step, const Dynamic& data);
std::string wait_line(std::int64_t step, std::int64_t number, double seconds, double until);
std::string child_line(std::int64_t step, std::int64_t number, const Outcome& outcome);
std::string launched_line(std::int64_t step, std::int64_t number, std::int64_t calls);
std::string tool_line(std::int64_t step, std::int64_t number, std::string_view tool,
                      const ToolOutcome& outcome);
std::string hook_line(std::int64_t step, std::string_view hook, std::string_view event);
std::string exit_line(std::int64_t step, const StateExit& exit);
std::string ended_line(const Outcome& outcome);

// --- What they tell

struct Waited {
  double seconds = 0;
  double until = 0;  // Seconds since 1970.
};

// What is known of one step.
struct StepHistory {
  std::string state{};                     // That was visited.
  std::map<std::int64_t, Object> calls{};  // Answers by their number.
  std::map<std::int64_t, Waited> waits{};
  std::map<std::int64_t, Outcome> children{};
  std::map<std::int64_t, std::int64_t> launched{};
  std::map<std::int64_t, ToolOutcome> tools{};  // By how many the loop had run before.
  std::optional<List> action{};                 // What hooks replied, in their order.
  std::optional<Dynamic> signal{};
  std::optional<StateExit> exit{};
};

// The price of a call: its `usage` and `cost`.
Object price_of(const Object& result);

// What one process did before it ended or stopped.
struct RunHistory {
  std::string process{};
  std::int64_t round = 0;
  std::vector<Object> paid{};
};

// What has been paid for a round so far. A process tells it when it runs the round for the first
// time: the processes before it are gone, and could tell nobody.
struct EarlierPayments {
  std::vector<Object> paid{};
  bool are_told = false;
};
EarlierPayments earlier_payments(const std::vector<RunHistory>& runs, std::string_view process,
                                 std::int64_t round);

struct History {
  Beginning beginning{};
  std::vector<std::string> path{};  // Up to the newest checkpoint's step.
  std::int64_t calls = 0;           // Of steps that are over.
  std::vector<double> waits{};
  std::map<std::int64_t, StepHistory> steps{};  // From the newest checkpoint's on.
  std::optional<Outcome> ended{};
  std::vector<RunHistory> runs{};  // Oldest first. Calls of unknown processes are in none of them.
};

// `step` is the newest checkpoint's. Lines of later steps are there when checkpoints are not kept
// for every event, or did not become durable with the journal: they count when that step comes.
std::expected<History, std::string> read_history(const std::vector<std::string>& lines,
                                                 std::int64_t step, bool is_step_over);

// How often each agent, tool and hook was asked: "agent:a", "tool:search", "hook:h:state_exit".
void count_asked(const std::vector<std::string>& lines, std::map<std::string, std::int64_t>& asked);

// Snapshots as the original's: the members that the newest checkpoint has.
struct Snapshot {
  std::string event{};
  std::string state{};
  std::int64_t step = 0;
  Object context{};
  Dynamic output{};
  std::int64_t api_calls = 0;
  double cost = 0;
  Dynamic tool_loop{};
  List launches{};  // That may not have ended.
  std::string config_hash{};
};
std::expected<Snapshot, std::string> read_snapshot(std::string_view text);

// --- What an execution has done, step by step, for those who look at it

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
