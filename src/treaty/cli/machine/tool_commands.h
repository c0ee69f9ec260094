// Tools of machines that commands of the user's run: `--tool NAME='COMMAND'`.
#pragma once

#include "treaty/cli/shared/client_tools.h"
#include "treaty/tools/runner.h"

namespace treaty::cli {

// A command runs beside the event loop; its time limit is that of --tool-timeout, or the machine's.
class ToolCommands final : public tools::ToolRunner {
 public:
  explicit ToolCommands(ClientTools tools) : tools_(std::move(tools)) {}

  boost::asio::awaitable<std::optional<tools::ToolOutcome>> run(const tools::ToolInvocation& call,
                                                                double deadline) override;

 private:
  ClientTools tools_;
};

}  // namespace treaty::cli
