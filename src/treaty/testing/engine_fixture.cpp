#include "treaty/testing/engine_fixture.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "treaty/api/invoke_result_renderer.h"
#include "treaty/store/sqlite/sqlite_store.h"
#include "treaty/testing/simulation/fake_clock.h"
#include "treaty/testing/stores/memory_store.h"

namespace treaty::testing {

namespace asio = boost::asio;
using contracts::AgentResult;

class EngineFixture::Told final : public backends::Backend {
 public:
  explicit Told(EngineFixture& fixture) : fixture_(fixture) {}

  asio::awaitable<AgentResult> run(const backends::Call& call, backends::Sink& sink) override {
    co_await asio::this_coro::throw_if_cancelled(false);
    fixture_.calls.push_back(call);
    if (fixture_.holds_) {
      sink.on_text("Hel");
      asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::hours(1));
      boost::system::error_code ignored;
      co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
      co_return AgentResult{.finish_reason = "aborted",
                            .error = contracts::AgentError{.message = "cancelled"}};
    }
    if (fixture_.answers.empty()) co_return fails("model_unavailable", false);
    AgentResult result = std::move(fixture_.answers.front());
    fixture_.answers.erase(fixture_.answers.begin());
    std::string_view text = result.content ? std::string_view(*result.content) : "";
    if (!fixture_.streamed.empty()) text = fixture_.streamed;
    while (!text.empty()) {  // A word each.
      const std::size_t end =
          fixture_.streamed_whole ? text.size() : std::min(text.find(' ', 1), text.size());
      sink.on_text(text.substr(0, end));
      text.remove_prefix(end);
    }
    co_return result;
  }

 private:
  EngineFixture& fixture_;
};

AgentResult says(std::string text) { return {.content = std::move(text), .finish_reason = "stop"}; }

AgentResult fails(std::string code, bool retryable) {
  return {.finish_reason = "error",
          .error = contracts::AgentError{
              .message = "no", .code = std::move(code), .retryable = retryable}};
}

contracts::AgentExecuteRequest user_turn(std::string turn_id, std::string instruction) {
  return {.session_id = "s1",
          .turn_id = std::move(turn_id),
          .scenario = contracts::UserTurn{.instruction = std::move(instruction)}};
}

const turns::Renderer& answer_renderer() { return api::invoke_result_renderer(); }

std::string texts_of(const backends::Call& call) {
  std::string out;
  for (const auto& message : call.messages) {
    if (!out.empty()) out += '|';
    if (const auto* user = std::get_if<backends::UserMessage>(&message)) {
      for (const auto& part : user->parts) out += std::get<backends::TextPart>(part).text;
    } else if (const auto* assistant = std::get_if<backends::AssistantMessage>(&message)) {
      out += assistant->text;
    } else {
      out += std::get<backends::ToolMessage>(message).content;
    }
  }
  return out;
}

turns::Submission submission(contracts::AgentExecuteRequest request) {
  return {.tenant = "local", .request = std::move(request), .renderer = &answer_renderer()};
}

EngineFixture::EngineFixture(const std::string& directory) {
  const auto clock = wall_clock([this] { return now; });
  store_ = directory.empty()
               ? store::open_memory_store({.clock = clock})
               : *store::open_sqlite_store(directory + "/treaty.db", {.clock = clock});
  repeating_ = std::make_unique<RepeatingStore>(*store_);
  failing_ = std::make_unique<FailingStore>(*repeating_);
  settings_ = std::make_shared<turns::Settings>();
  settings_->agents["default"] = {
      .name = "default",
      .role = {.tools = {{.declaration = {.name = "read_file"}}}},
      // No breaker: it would have turns wait for 30 s of real time.
      .chain = {
          {.backend = "told", .model = "m", .policy = {.max_attempts = 1, .breaker_failures = 0}}}};
  auto dispatcher = std::make_shared<dispatch::Dispatcher>(
      dispatch::BackendSources{{"told",
                                {.backend = std::make_shared<Told>(*this),
                                 .pool_of =
                                     [](const std::string& model) {
                                       return dispatch::PoolName{.key = "told/" + model,
                                                                 .provider = "told",
                                                                 .model = model};
                                     }}}},
      dispatch::Dispatcher::Services{.pools = std::make_shared<dispatch::Pools>(clock),
                                     .budgets = failing_.get()});
  worker_ = std::make_unique<turns::Worker>(loop_.get_executor(), settings_, dispatcher);
  engine_ = std::make_unique<turns::Engine>(*failing_, clock, std::vector{&answer_renderer()});
}

EngineFixture::~EngineFixture() { store_.reset(); }

turns::Outcome EngineFixture::execute(contracts::AgentExecuteRequest request) {
  const auto log = begin(std::move(request));
  return *run(log->outcome());
}

std::shared_ptr<turns::TurnLog> EngineFixture::begin(contracts::AgentExecuteRequest request) {
  return run(engine_->execute(*worker_, submission(std::move(request))));
}

std::vector<turns::Outcome> EngineFixture::execute_together(
    const contracts::AgentExecuteRequest& request, int count) {
  std::vector<std::future<std::shared_ptr<turns::TurnLog>>> logs;
  logs.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    logs.push_back(
        asio::co_spawn(loop_, engine_->execute(*worker_, submission(request)), asio::use_future));
  }
  run_until_idle();
  std::vector<turns::Outcome> outcomes;
  outcomes.reserve(logs.size());
  for (auto& log : logs) outcomes.push_back(*log.get()->outcome_now());
  return outcomes;
}

void EngineFixture::run_until_idle() {
  loop_.restart();
  loop_.run();
}

}  // namespace treaty::testing
