// Half an answer: its writer may be at work at this moment, and then the rest is waited for.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "treaty/bridge/exchange.h"

namespace treaty::bridge {

// Whether the file is being written now, by the clock of this machine.
bool is_being_written_now(const ResponseFile& file);

// What is in an answer's place, once its writer has finished or has been silent for so long that it
// was cut off. Blocks for three seconds at most; a file that is still being written then is
// returned as it is. `on_wait` is called once, before the first wait.
ResponseFile await_response(const std::string& path,
                            const std::optional<contracts::BridgeRequest>& request,
                            const std::function<void()>& on_wait = {});

}  // namespace treaty::bridge
