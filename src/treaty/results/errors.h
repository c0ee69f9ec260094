// What went wrong, told from a failed answer: one of eight codes, and whether trying again may
// help.
#pragma once

#include <optional>
#include <string_view>

#include "treaty/base/headers.h"
#include "treaty/contracts/agent_result.h"

namespace treaty::results {

struct ErrorEvidence {
  std::optional<int> status{};  // Of the HTTP answer; none when there was no answer.
  const Headers& headers;
  std::string_view body{};          // JSON, a page, a text, or nothing.
  std::string_view known_secret{};  // Masked in the message wherever it stands.
};

// Decides by what the body names, then by the status, then by words in the message, then by the
// status's hundred. Never fails: what nobody can read is a server_error that may be tried again.
contracts::AgentError classify_error(const ErrorEvidence& evidence);

// The provider has the last word on whether to try again: x-should-retry.
void override_retryable(contracts::AgentError& error, const Headers& headers);

}  // namespace treaty::results
