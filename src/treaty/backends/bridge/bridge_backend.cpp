#include "treaty/backends/bridge/bridge_backend.h"

#include <fmt/format.h>

#include <boost/asio/this_coro.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "treaty/backends/bridge/question.h"
#include "treaty/base/clock.h"
#include "treaty/bridge/names.h"

namespace treaty::backends {
namespace {

namespace asio = boost::asio;
using contracts::AgentResult;

constexpr std::string_view kName = "bridge";
constexpr std::size_t kLargestRequest = std::size_t{16} << 20U;  // JSON-03.

AgentResult unusable(const Error& error) {
  return failed_result("server_error", "BridgeUnusable",
                       fmt::format("the bridge {} {}", error.where, error.message), true);
}

AgentResult too_large() {
  return failed_result(
      "context_length", "RequestTooLarge",
      "the conversation does not fit into a bridge request, which has 16 MiB at most", false);
}

AgentResult timed_out(std::chrono::milliseconds timeout) {
  return failed_result("timeout", "Timeout",
                       fmt::format("no answer came to the bridge within {} s",
                                   static_cast<double>(timeout.count()) / 1000),
                       true);
}

// Whoever waits for the agent is longer there than the agent may take.
std::int64_t whole_seconds(std::chrono::milliseconds time) {
  return std::max<std::int64_t>(std::chrono::ceil<std::chrono::seconds>(time).count(), 1);
}

void set_output(AgentResult& result) {
  if (!result.content || result.output || result.error) return;
  result.output = json::ObjectText::parse(*result.content);
}

// Waits for one file. Unsubscribes whatever happens to the coroutine.
class FileWaiter {
 public:
  FileWaiter(std::shared_ptr<AnswerWatch> watch, std::string file_name,
             const asio::any_io_executor& executor)
      : waiter(executor), watch_(std::move(watch)), file_name_(std::move(file_name)) {
    watch_->subscribe(file_name_, waiter);
  }
  ~FileWaiter() { watch_->unsubscribe(file_name_); }
  FileWaiter(const FileWaiter&) = delete;
  FileWaiter& operator=(const FileWaiter&) = delete;

  Waiter waiter;

 private:
  std::shared_ptr<AnswerWatch> watch_;
  std::string file_name_;
};

}  // namespace

BridgeBackend::BridgeBackend(BridgeTarget target)
    : target_(std::move(target)), slots_(target_.directory) {}

asio::awaitable<AgentResult> BridgeBackend::run(const Call& call, Sink& sink) {
  co_await asio::this_coro::throw_if_cancelled(false);  // A cancelled call still has its result.
  auto request = bridge_request_of(call, target_.agent_name, whole_seconds(target_.timeout));
  AgentResult result = co_await ask(std::move(request));
  if (call.output) set_output(result);
  if (!result.provider_data) result.provider_data.emplace();
  if (!result.provider_data->contains("provider")) result.provider_data->add("provider", kName);
  if (!result.error && result.content) sink.on_text(*result.content);
  co_return result;
}

asio::awaitable<AgentResult> BridgeBackend::ask(contracts::BridgeRequest request) {
  if (encode(request).size() > kLargestRequest) co_return too_large();
  // Before the question is there: no answer is missed.
  if (!watch_ || !watch_->is_alive()) {
    auto opened = AnswerWatch::open(co_await asio::this_coro::executor, target_.directory);
    if (!opened) co_return unusable(opened.error());
    watch_ = *std::move(opened);
  }
  const auto watch = watch_;
  const Time deadline = std::chrono::steady_clock::now() + target_.timeout;
  const double until = unix_seconds(std::chrono::system_clock::now() + target_.timeout);
  const auto place = co_await pool_.run_until(
      deadline, [this, request = std::move(request), until] { return slots_.ask(request, until); },
      [](const auto& asked) {
        if (asked) BridgeSlots::withdraw(*asked);
      });
  if (!place) co_return co_await give_up(place.error());
  if (!*place) co_return unusable(place->error());
  co_return co_await wait(**place, watch, deadline);
}

asio::awaitable<AgentResult> BridgeBackend::give_up(OffloadError why) {
  if (why == OffloadError::full) {
    co_return unusable(
        {ErrorCode::unavailable, "has too many requests at once", target_.directory});
  }
  if (!co_await is_cancelled()) co_return timed_out(target_.timeout);
  co_return aborted_result();
}

asio::awaitable<AgentResult> BridgeBackend::wait(const BridgePlace& place,
                                                 std::shared_ptr<AnswerWatch> watch,
                                                 Time deadline) {
  FileWaiter file(watch, bridge::response_name(place.suffix), co_await asio::this_coro::executor);
  // The disk gets a last moment of its own when the time is up.
  constexpr auto kLastLook = std::chrono::seconds(1);
  OffloadError why = OffloadError::given_up;
  while (true) {
    const bool is_last = std::chrono::steady_clock::now() >= deadline || !watch->is_alive();
    file.waiter.take();  // What it says is looked at now.
    auto looked = co_await pool_.run_until(
        deadline + kLastLook, [place] { return BridgeSlots::collect(place); }, [](const auto&) {});
    if (looked && *looked) co_return **std::move(looked);
    if (!looked) why = looked.error();
    if (is_last || !looked || co_await is_cancelled()) break;
    co_await file.waiter.wait_until(deadline);
    if (co_await is_cancelled()) break;
  }
  const auto withdraw = [place] { BridgeSlots::withdraw(place); };
  if (!pool_.post(withdraw)) withdraw();
  if (!watch->is_alive() && !co_await is_cancelled()) {
    co_return unusable({ErrorCode::unreadable, "is gone", target_.directory});
  }
  co_return co_await give_up(why);
}

}  // namespace treaty::backends
