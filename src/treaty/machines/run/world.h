// Everything around a machine that the runner needs: real, or simulated.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/machines/agents.h"
#include "treaty/machines/hooks/hook.h"
#include "treaty/machines/journal/notebook.h"
#include "treaty/machines/machine.h"
#include "treaty/machines/run/timeline.h"
#include "treaty/store/machines.h"

namespace treaty::machines {

// What happens, as it happens, for people who look on and for the events of a turn.
struct Happening {
  std::string_view kind;  // "state", "call", "answer", "wait", "tool", "child", "error", "end".
  const std::string& execution;
  const std::string& machine;
  std::int64_t depth = 0;
  std::int64_t step = 0;
  std::string_view state{};
  std::string_view detail{};  // An agent, a tool, a child; a reason.
  double seconds = 0;         // Of a wait.
  std::string_view code{};    // Of an error.
};

class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void on_happening(const Happening& happening) = 0;
};

// Reads a machine that another one names by its path. The error is for people.
using OpenMachine = std::function<std::expected<std::shared_ptr<const Machine>, std::string>(
    const std::string& path, const std::string& directory)>;

struct World {
  Agents& agents;
  Tools& tools;
  Timeline& timeline;
  store::MachineStore& store;
  const HookRegistry& hooks;
  OpenMachine open_machine;
  Watcher* watcher = nullptr;  // Null: nobody looks on.
  AfterWrite after_write{};
  bool notes_hooks = false;  // In the journal: a simulation that goes on must know who was asked.

  // Tools of whoever runs the machine, for agents in a tool loop; null: none.
  std::shared_ptr<const std::vector<backends::Tool>> offered_tools{};

  // Whether it shall stop now, and be resumable: asked between any two things that it does.
  std::function<bool()> is_stopping{};

  // The same for machines that were launched, which live on when a child is not wanted any more.
  // Absent: as is_stopping of the outermost machine.
  std::function<bool()> is_ending{};
};

}  // namespace treaty::machines
