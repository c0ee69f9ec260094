#include "treaty/cli/machine/tool_commands.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <thread>

namespace treaty::cli {
namespace {

namespace asio = boost::asio;

// Readable once the run is not wanted any more.
class Interrupt {
 public:
  Interrupt() : descriptor_(::eventfd(0, EFD_CLOEXEC)) {}
  ~Interrupt() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  int descriptor() const { return descriptor_; }
  void ring() const {
    const std::uint64_t one = 1;
    (void)!::write(descriptor_, &one, sizeof one);
  }

 private:
  int descriptor_;
};

tools::ToolOutcome outcome_of_run(const std::string& tool, const ProcessRun& run,
                                  std::chrono::milliseconds time_limit) {
  const auto outcome = outcome_of(tool, run, time_limit);
  if (const auto* error = std::get_if<contracts::ErrorMessage>(&outcome)) {
    return {.content = error->text, .is_error = true};
  }
  return {.content = run.output};
}

}  // namespace

asio::awaitable<std::optional<tools::ToolOutcome>> ToolCommands::run(
    const tools::ToolInvocation& call, double /*deadline*/) {
  if (!tools_.commands.contains(call.name)) {
    co_return tools::no_provider_for(call.name);
  }
  co_await asio::this_coro::throw_if_cancelled(false);
  const auto executor = co_await asio::this_coro::executor;
  const Interrupt interrupt;
  asio::steady_timer ended(executor, asio::steady_timer::time_point::max());
  std::optional<ProcessRun> run;
  bool is_over = false;
  std::thread beside([&] {
    run = run_tool(tools_,
                   {.tool_call_id = call.id, .name = call.name, .arguments_json = call.arguments},
                   interrupt.descriptor());
    asio::post(executor, [&] {
      is_over = true;
      ended.cancel();
    });
  });
  while (!is_over) {
    boost::system::error_code ignored;
    co_await ended.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) interrupt.ring();
  }
  beside.join();
  if (!run) co_return tools::ToolOutcome{.content = "It did not run.", .is_error = true};
  co_return outcome_of_run(call.name, *run, tools_.time_limit);
}

}  // namespace treaty::cli
