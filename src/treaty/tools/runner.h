// The interface behind which tools run: commands of the user's, a client outside of the process, or
// a script.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>

#include "treaty/tools/tool.h"

namespace treaty::tools {

// Thread rule: called on the event loop of whoever owns it; any number of calls may run at once.
//
//   class Echo final : public ToolRunner {
//     awaitable<std::optional<ToolOutcome>> run(const ToolInvocation& call, double) override {
//       co_return ToolOutcome{.content = call.arguments};
//     }
//   };
class ToolRunner {
 public:
  virtual ~ToolRunner() = default;

  // Failures are outcomes. Nothing: a client outside of this process has to run the tool,
  // and the caller waits until a runner has the answer. Cancelling the coroutine ends the call.
  // `deadline` is in seconds of the caller's clock, infinite for none; the caller enforces it.
  virtual boost::asio::awaitable<std::optional<ToolOutcome>> run(const ToolInvocation& call,
                                                                 double deadline) = 0;
};

}  // namespace treaty::tools
