// Why the work of a state stopped short, and what the runner does about it.
#pragma once

#include <expected>
#include <string>

#include "treaty/base/error.h"
#include "treaty/machines/run/agent_values.h"

namespace treaty::machines {

struct RunFailure {
  enum class Way : std::uint8_t {
    routed,       // To on_error, then to the on_error hook; else the machine fails.
    unrouted,     // The machine fails.
    interrupted,  // The execution stops here and can be resumed.
    lost,         // This runner cannot continue it; `trouble` says why.
  };

  Object error{};
  Way way = Way::routed;
  Error trouble{};
};

template <class T>
using Attempt = std::expected<T, RunFailure>;

inline std::unexpected<RunFailure> fail(std::string_view code, std::string_view type,
                                        std::string_view message, bool retryable = false) {
  return std::unexpected(RunFailure{.error = make_error(code, type, message, retryable)});
}

// Of a state that takes longer than it may, wherever that is noticed (section 5).
inline Object state_timeout(std::string_view state) {
  return make_error("timeout", "StateTimeout",
                    "The state '" + std::string(state) + "' took longer than its timeout.", true);
}

inline std::unexpected<RunFailure> template_failure(std::string_view message) {
  return fail("template_error", "TemplateError", message);
}
inline std::unexpected<RunFailure> hook_failure(std::string_view message) {
  return fail("hook_error", "HookError", message);
}
inline std::unexpected<RunFailure> lost(Error trouble) {
  return std::unexpected(RunFailure{.way = RunFailure::Way::lost, .trouble = std::move(trouble)});
}
inline std::unexpected<RunFailure> interrupted() {
  return std::unexpected(RunFailure{.way = RunFailure::Way::interrupted});
}

}  // namespace treaty::machines
