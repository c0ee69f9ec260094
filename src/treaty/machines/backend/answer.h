// Calls as inputs of machines, and outcomes of machines as AgentResults. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "treaty/backends/call.h"
#include "treaty/contracts/agent_result.h"
#include "treaty/machines/journal/history.h"

namespace treaty::machines {

// {"message": the newest text of the user, "messages": all of them as {"role", "content"}, oldest
// first, "system"}. Pictures are left out.
Object input_of(const backends::Call& call);

// The name under which a client runs a call of a tool loop: of 29 characters, the same for the same
// key.
std::string public_id_of(std::string_view key);

// completed: `output`, and as `content` the text that is meant to be read: its member content,
// text or answer, its only member if that is a text, else all of it as JSON.
// failed: the error. waiting for tools: tool_use, with the calls under their public ids. waiting
// for a signal: the error machine_waiting. interrupted: aborted. lost: server_error.
contracts::AgentResult result_of(const Outcome& outcome);

// What ended it outside of the machine.
contracts::AgentResult result_of(const Error& trouble);

// What the calls of a run took. A count that nobody named stays absent.
class Tally {
 public:
  void add(const Dynamic& result);  // An AgentResult.
  void give_to(contracts::AgentResult& result) const;

 private:
  std::optional<contracts::UsageInfo> usage_{};
  std::int64_t calls_ = 0;
  std::optional<double> cost_{};
};

}  // namespace treaty::machines
