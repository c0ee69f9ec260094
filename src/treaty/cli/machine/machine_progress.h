// The states of a running machine, as they happen, on a terminal.
#pragma once

#include "treaty/machines/run/world.h"

namespace treaty::cli {

class MachineProgress final : public machines::RunObserver {
 public:
  void on_event(const machines::RunEvent& event) override;
};

// A line for it, without its end; empty when there is nothing to say.
std::string progress_line(const machines::RunEvent& event, bool colors);

}  // namespace treaty::cli
