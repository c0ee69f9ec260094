// For programs that need an agent: ask, leave with 42, be run again, read the answer.
//
//   auto answer = treaty::bridge::invoke({.agent_name = "reviewer", .prompt = "Is this right? …"});
//   if (!answer) {
//     save_state();
//     std::cerr << answer.error().message << '\n';
//     return answer.error().exit_code;
//   }
//
// Asking is idempotent: a program that runs through its phases again, from the first one, finds
// each of their answers again and is back where it left.
//
// Threads: invoke() keeps no state in the process. Several threads may call it at the same time, as
// long as their questions have different phases or different directories.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "treaty/base/json_text.h"
#include "treaty/contracts/bridge_response.h"

namespace treaty::bridge {

// A request but for what is made here: its id, its time, and where the answer belongs.
struct BridgeQuestion {
  std::string agent_name;
  std::string prompt;
  std::optional<std::int64_t> phase{};  // A file of its own for each; 0 to 999,999,999.
  std::optional<std::string> phase_name{};
  std::int64_t timeout_seconds = 120;
  json::ObjectText context{};
  std::optional<std::string> model{};
};

// There is no answer yet.
struct NeedAgent {
  int exit_code;        // 42: asked, leave with it. 1: it could not even be asked.
  std::string message;  // For people.
};

// The answer of the agent, which may be an error or a timeout; its files stay where they are.
//
// The same question is never asked twice, and another question of that phase takes its place: then
// an answer to the former one goes to the quarantine. An answer that is torn or broken, to another
// request, or older than the request counts as none.
std::expected<contracts::BridgeResponse, NeedAgent> invoke(const BridgeQuestion& question,
                                                           const std::string& directory = ".");

}  // namespace treaty::bridge
