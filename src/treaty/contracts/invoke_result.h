// InvokeResult: the envelope around every answer. Errors and warnings of the system are told here
// and nowhere else (AGN-033 §2.1).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "treaty/contracts/agent_execute_response.h"
#include "treaty/contracts/decoded.h"
#include "treaty/contracts/inspection/names.h"

namespace treaty::contracts {

// INV-04. Used for errors and for warnings.
struct InvokeError {
  std::string error_code;  // Never blank in what Treaty writes; foreign ones may leave it out.
  std::string message;
  bool fatal_error = false;   // Trying again as it is will not help.
  bool system_error = false;  // Not the caller's fault.
  std::optional<std::string> context{};
  std::optional<std::string> details{};  // No stack trace, no path of the server, no secret.
  bool operator==(const InvokeError&) const = default;
};

struct Failure {
  std::vector<InvokeError> errors;  // One or more.
  bool operator==(const Failure&) const = default;
};

struct InvokeResult {
  std::variant<AgentExecuteResponse, Failure> outcome;
  std::vector<InvokeError> warnings{};
  std::optional<std::string> result_id{};
  bool operator==(const InvokeResult&) const = default;
};

Decoded<InvokeResult> decode_invoke_result(std::string_view bytes,
                                           const DecodeOptions& options = {});

std::string encode(const InvokeResult& result, Dialect dialect = Dialect::pascal);

}  // namespace treaty::contracts
