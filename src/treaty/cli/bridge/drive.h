// The loop of `treaty bridge run`: a program, its questions, their answers, the program again.
#pragma once

#include <string>
#include <vector>

#include "treaty/bridge/driver.h"
#include "treaty/bridge/driving.h"
#include "treaty/cli/bridge/ask_agent.h"
#include "treaty/cli/bridge/program.h"

namespace treaty::cli {

struct DriveOptions {
  std::vector<std::string> command{};  // The program and its arguments.
  std::vector<std::string> words{};    // The options of the run itself, as they were given.
  int most_resumes = bridge::kDefaultMostResumes;
  bool fresh = false;  // An interrupted run is not gone on with.
  AskOptions ask{};
};

class Drive {
 public:
  Drive(bridge::Driver& driver, std::unique_ptr<AgentClients> agents, Signals& signals,
        DriveOptions options)
      : driver_(driver),
        agents_(std::move(agents)),
        signals_(signals),
        options_(std::move(options)) {}

  // Drives until the program leaves with anything but 42, or cannot go on; answers the exit code.
  int run();

 private:
  // How a run ends that the program did not end itself.
  struct End {
    int exit_code = kOk;
    std::string reason{};   // For the journal.
    std::string message{};  // For people.
    bool is_final = false;
    bool is_refused = false;  // Nothing was begun, so nothing has ended.
  };
  template <class T>
  using Step = std::expected<T, End>;

  Step<void> begin();
  Step<void> await_earlier();
  Step<void> begin_fresh();
  Step<void> go_on();
  Step<void> clear_table();
  Step<ProgramEnd> run_program();
  Step<void> answer_all();
  Step<void> start_again();
  Step<void> answer(const bridge::Exchange& exchange);
  Step<void> take_found(const bridge::Exchange& exchange);
  Step<void> note(std::string event, json::ObjectText details = {});
  End end_of(const bridge::Stop& stop, const std::vector<bridge::Exchange>& exchanges) const;
  static End unavailable(const Error& error);
  bool resumes_by_itself() const;
  int finish(const End& end);

  bridge::Driver& driver_;
  std::unique_ptr<AgentClients> agents_;
  Signals& signals_;
  DriveOptions options_;
  bridge::RunMemory run_{};
  bool is_taken_up_ = false;  // Of an interrupted run nothing has been done yet.
};

}  // namespace treaty::cli
