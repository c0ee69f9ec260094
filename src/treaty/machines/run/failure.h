// What ends the ordinary way of a state.
#pragma once

#include <expected>
#include <string>

#include "treaty/base/error.h"
#include "treaty/machines/run/agent_values.h"

namespace treaty::machines {

struct Failure {
  enum class Way : std::uint8_t {
    routed,       // on_error, then the on_error hook, else the machine has failed.
    unrouted,     // The machine has failed.
    interrupted,  // It stops here and may be resumed.
    lost,         // It does not go on here: `trouble`.
  };

  Object error{};
  Way way = Way::routed;
  Error trouble{};
};

template <class T>
using Attempt = std::expected<T, Failure>;

inline std::unexpected<Failure> fail(std::string_view code, std::string_view type,
                                     std::string_view message, bool retryable = false) {
  return std::unexpected(Failure{.error = make_error(code, type, message, retryable)});
}

// Of a state that takes longer than it may, wherever that is noticed (section 5).
inline Object state_timeout(std::string_view state) {
  return make_error("timeout", "StateTimeout",
                    "The state '" + std::string(state) + "' took longer than its timeout.", true);
}

inline std::unexpected<Failure> template_failure(std::string_view message) {
  return fail("template_error", "TemplateError", message);
}
inline std::unexpected<Failure> hook_failure(std::string_view message) {
  return fail("hook_error", "HookError", message);
}
inline std::unexpected<Failure> lost(Error trouble) {
  return std::unexpected(Failure{.way = Failure::Way::lost, .trouble = std::move(trouble)});
}
inline std::unexpected<Failure> interrupted() {
  return std::unexpected(Failure{.way = Failure::Way::interrupted});
}

}  // namespace treaty::machines
