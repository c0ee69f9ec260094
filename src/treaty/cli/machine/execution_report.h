// All that is known of one execution, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "treaty/machines/journal/account.h"
#include "treaty/store/machines.h"

namespace treaty::cli {

struct ExecutionView {
  store::ExecutionRow row{};
  std::string channel{};  // That it waits on, or a machine that it runs.
  machines::Snapshot snapshot{};
  machines::Account account{};
  std::vector<store::ExecutionRow> children{};
  std::string place{};  // What a command that goes on needs besides: " --store runs".

  bool is_completed() const;
  machines::Value output() const;  // Of a completed one.
};

std::string view_json(const ExecutionView& view);
std::string view_text(const ExecutionView& view);

// What to do next; empty when there is nothing.
std::string next_step_of(const ExecutionView& view);

}  // namespace treaty::cli
