#include "treaty/dispatch/dispatcher.h"

#include <fmt/format.h>

#include <boost/asio/this_coro.hpp>

namespace treaty::dispatch {
namespace {

namespace asio = boost::asio;
using contracts::AgentResult;

// Passes the text on and remembers that there was some.
class Watched final : public backends::Sink {
 public:
  explicit Watched(backends::Sink& sink) : sink_(sink) {}

  void on_text(std::string_view delta) override {
    has_text = true;
    sink_.on_text(delta);
  }

  bool has_text = false;

 private:
  backends::Sink& sink_;
};

AgentResult unknown_backend(const Choice& choice) {
  return {.finish_reason = "error",
          .error = contracts::AgentError{
              .message = fmt::format("no backend is named {}", choice.backend),
              .code = "model_unavailable",
              .retryable = false}};
}

}  // namespace

Dispatcher::Dispatcher(Backends backends) : backends_(std::move(backends)) {}

asio::awaitable<AgentResult> Dispatcher::run(std::span<const Choice> chain, backends::Call call,
                                             backends::Sink& sink,
                                             std::function<void(const Attempt&)> on_attempt) {
  co_await asio::this_coro::throw_if_cancelled(false);  // A cancelled call has its result, too.
  AgentResult result;
  for (const Choice& choice : chain) {
    call.model = choice.model;
    call.max_output_tokens = choice.max_output_tokens;
    call.temperature = choice.temperature;
    Watched watched(sink);
    const auto backend = backends_.find(choice.backend);
    result = backend == backends_.end() ? unknown_backend(choice)
                                        : co_await backend->second->run(call, watched);
    on_attempt({choice, result});
    if (!result.error || watched.has_text || !is_worth_switching(*result.error)) break;
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) break;
  }
  co_return result;
}

bool is_worth_switching(const contracts::AgentError& error) {
  if (!error.code) return false;  // Cancelled.
  return *error.code != "context_length" && *error.code != "content_filter" &&
         *error.code != "invalid_request";
}

}  // namespace treaty::dispatch
