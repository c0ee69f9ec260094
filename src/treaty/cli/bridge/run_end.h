// How a run ends that its program did not end itself, and what to say about it. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "treaty/bridge/run_state.h"
#include "treaty/cli/command_line.h"

namespace treaty::cli {

struct RunEnd {
  int exit_code = kOk;
  std::string reason{};   // For the journal.
  std::string message{};  // For people.
  bool is_final = false;
  bool is_refused = false;   // Nothing was begun, so nothing has ended.
  std::string request_in{};  // The directory where the program wrote its request instead.
};

// What was driven, and how.
struct DrivenRun {
  std::string directory{};
  std::vector<std::string> command{};  // The program and its arguments.
  std::vector<std::string> words{};    // The options of the run itself: names, each with its value.
  int most_resumes = bridge::kDefaultMostResumes;
  std::string request_in{};  // Another directory where a request appeared while the program ran.
};

RunEnd end_of_stop(const bridge::Stop& stop, std::span<const bridge::Exchange> exchanges,
                   const DrivenRun& run);

std::string request_id_of(const bridge::Exchange& exchange);

// "phase 2, request_id …".
std::string request_text(const bridge::Exchange& exchange);

}  // namespace treaty::cli
