#include "treaty/machines/backend/launch_resumer.h"

#include <fmt/format.h>

#include "treaty/machines/run/child_machines.h"

namespace treaty::machines {

namespace asio = boost::asio;

// What such machines use. It has no client and no turn: there are no tools to offer.
class LaunchResumer::RunContext final : public ToolRunner {
 public:
  explicit RunContext(std::shared_ptr<const void> life) : life_(std::move(life)) {}

  asio::awaitable<std::optional<ToolOutcome>> run(const ToolInvocation& call,
                                                  double /*deadline*/) override {
    co_return tools::no_provider_for(call.name);
  }

 private:
  std::shared_ptr<const void> life_;
};

bool is_launched(std::string_view execution) {
  const std::size_t dot = execution.rfind('.');
  return dot != std::string_view::npos && execution.substr(dot + 1).starts_with(kLaunchPrefix);
}

asio::awaitable<void> LaunchResumer::resume_abandoned() {
  const auto abandoned = co_await services_.store.list_abandoned();
  if (!abandoned) co_return;
  for (const store::SessionExecution& one : *abandoned) {
    if (!is_launched(one.execution) || unreadable_.contains(one.execution)) continue;
    const auto context = std::make_shared<RunContext>(services_.hold());
    co_await services_.timeline.beside([this, context, one] { return resume(context, one); });
  }
}

asio::awaitable<void> LaunchResumer::resume(std::shared_ptr<RunContext> context,
                                            store::SessionExecution execution) {
  World world{.agents = services_.agents,
              .tools = *context,
              .timeline = services_.timeline,
              .store = services_.store,
              .hooks = services_.hooks,
              .open_machine = services_.open_machine,
              .after_write = {},
              .origin = {.session = execution.session},
              .offered_tools = {},
              .is_stopping = [context] { return false; }};  // It lives as long as what is launched.
  const auto outcome =
      co_await resume_execution(std::move(world), execution.execution, services_.read_machine);
  // Another process has it, or the store fails: the next call looks again.
  if (outcome || outcome.error().code == ErrorCode::conflict ||
      outcome.error().code == ErrorCode::unavailable) {
    co_return;
  }
  unreadable_.insert(execution.execution);
  log_(fmt::format("the launched machine {} cannot be resumed: {}", execution.execution,
                   outcome.error().message));
}

}  // namespace treaty::machines
