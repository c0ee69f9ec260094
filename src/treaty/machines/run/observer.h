// Events of a running execution, for people who watch it and for the progress of a turn.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace treaty::machines {

struct RunEvent {
  // "state", "call", "answer", "wait", "waiting", "tool", "child", "launch", "error", "end".
  std::string_view kind;
  const std::string& execution;
  const std::string& machine;
  std::int64_t depth = 0;
  std::int64_t step = 0;
  std::string_view state{};
  std::string_view detail{};  // An agent, a tool, a child; a reason.
  double seconds = 0;         // Of a wait.
  std::string_view code{};    // Of an error.
};

// Called on the event loop of the execution, which continues when on_event returns. The event is
// valid during the call only.
//
//   class Printer final : public RunObserver {
//     void on_event(const RunEvent& event) override { fmt::print("{}\n", event.kind); }
//   };
//   Printer printer;
//   world.observer = &printer;
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void on_event(const RunEvent& event) = 0;
};

}  // namespace treaty::machines
