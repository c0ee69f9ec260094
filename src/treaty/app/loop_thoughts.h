// The thoughts of answers in tool loops of machines. A machine's journal has its messages as plain
// values, which its templates can read, so thoughts are kept beside them: in memory, and bounded. A
// loop that continues after a crash continues without them.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

#include "treaty/backends/call.h"
#include "treaty/contracts/agent_result.h"

namespace treaty::app {

// Belongs to one event loop.
class LoopThoughts {
 public:
  // `loop` names the tool loop. Only answers with tool calls are asked about again.
  void keep(const std::string& loop, const contracts::AgentResult& answer,
            backends::Thoughts thoughts);

  // Gives the messages of that loop the thoughts that were kept of them.
  void put_back(const std::string& loop, backends::Messages& messages) const;

 private:
  struct Entry {
    std::string key;
    backends::Thoughts thoughts;
    std::size_t bytes = 0;
  };

  // Of the entries with that key the one that has so many newer ones; null: none.
  const Entry* find(std::string_view key, int newer) const;

  std::deque<Entry> entries_{};  // The oldest first.
  std::size_t bytes_ = 0;
};

}  // namespace treaty::app
