// Keys of a state beside each other: MCH-17 and MCH-18.
#include <fmt/format.h>

#include <array>

#include "treaty/machines/reading/sections.h"

namespace treaty::machines {
namespace {

struct Companion {
  std::string_view key;      // Has no effect
  std::string_view without;  // unless this one is there.
};

constexpr std::array<Companion, 7> kCompanions = {{{"execution", "agent"},
                                                   {"tool_loop", "agent"},
                                                   {"sampling", "agent"},
                                                   {"as", "foreach"},
                                                   {"key", "foreach"},
                                                   {"mode", "machine"},
                                                   {"launch_input", "launch"}}};
constexpr std::array<std::string_view, 4> kIdleBesideWaiting = {"agent", "machine", "action",
                                                                "launch"};

void warn_idle_keys(Reader& reader, const Place& place, const State& state) {
  for (const auto& [key, companion] : kCompanions) {
    const auto found = place.find(key);
    if (!found || place.find(companion)) continue;
    reader.findings.warn("MCH-17", *found,
                         fmt::format("{} has no effect without {}", key, companion));
  }
  const auto output = place.find("output");
  if (output && state.kind != StateKind::final) {
    reader.findings.warn("MCH-17", *output, "output has no effect: the state is not final",
                         "output_to_context keeps what a state found out");
  }
  if (!place.find("wait_for")) return;
  for (const std::string_view key : kIdleBesideWaiting) {
    if (const auto found = place.find(key)) {
      reader.findings.warn("MCH-17", *found, fmt::format("{} has no effect beside wait_for", key),
                           "put it into the next state");
    }
  }
}

// How many machines the key names, whether or not they are there.
std::size_t count_machines(const Place& place) {
  const auto machine = place.find("machine");
  if (!machine) return 0;
  return machine->kind() == yaml::Kind::list ? machine->value().items.size() : 1;
}

}  // namespace

void check_state(Reader& reader, const Place& place, const State& state) {
  warn_idle_keys(reader, place, state);
  const auto list = place.find("foreach");
  if (list && count_machines(place) != 1) {
    reader.findings.violate("MCH-18", *list, "foreach needs one machine to run for every item",
                            "write `machine:` and its name beside it");
  }
  const auto loop = place.find("tool_loop");
  const bool is_many = state.execution && (state.execution->kind == ExecutionKind::parallel ||
                                           state.execution->kind == ExecutionKind::voting);
  if (loop && state.tool_loop && is_many) {
    reader.findings.violate("MCH-18", *loop,
                            "tool_loop cannot stand beside an execution of many samples",
                            "give each of them a machine with the loop in it");
  }
}

}  // namespace treaty::machines
