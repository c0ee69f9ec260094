// The composer of Assistant Response v1: fixed templates, no model. Any input gives a response.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "treaty/base/json.h"
#include "treaty/contracts/assistant_response.h"

namespace treaty::assistant {

enum class ComposeProfile {
  strict,  // What it writes is a valid Assistant Response and shows no internals.
  compat,  // As the composer that was deployed first: 0, false and null fall through.
};

enum class State {
  task_created,
  task_scheduled,
  task_deferred,
  task_failed,
  clarification_needed,
  fallback  // The contract calls it default.
};

std::string_view name_of(State state);

struct Composition {
  contracts::AssistantResponse response;
  State state = State::fallback;
  std::string why_state{};  // For people: what in the input decided.
  std::string why_confidence{};
  std::string why_trace_id{};
};

// `input` is `{summary?, task?, routing?, execution_status?}`; a wrong type counts as absent.
// `new_id` makes a trace_id when the input has none.
Composition compose(std::optional<json::Value> input, ComposeProfile profile,
                    const std::function<std::string()>& new_id);

}  // namespace treaty::assistant
