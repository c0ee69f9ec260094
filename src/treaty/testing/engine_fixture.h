// An engine with a real store, one worker and a backend that says what a test wants it to say.
// Every decision of the engine runs twice in that store.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <memory>
#include <string>
#include <vector>

#include "treaty/contracts/agent_execute_request.h"
#include "treaty/testing/stores/failing_store.h"
#include "treaty/testing/stores/repeating_store.h"
#include "treaty/turns/engine.h"

namespace treaty::testing {

contracts::AgentResult says(std::string text);
contracts::AgentResult fails(std::string code, bool retryable);
contracts::AgentExecuteRequest user_turn(std::string turn_id, std::string instruction = "Hello.");

// What the turns of the fixture are answered with: InvokeResults.
const turns::Renderer& answer_renderer();

turns::Submission submission(contracts::AgentExecuteRequest request);

// The texts of a call's messages, joined by bars.
std::string texts_of(const backends::Call& call);

class EngineFixture {
 public:
  explicit EngineFixture(const std::string& directory = "");  // Empty: its store is in memory.
  ~EngineFixture();
  EngineFixture(const EngineFixture&) = delete;
  EngineFixture& operator=(const EngineFixture&) = delete;

  std::vector<contracts::AgentResult> answers{};  // What the backend says, one after the other,
  std::vector<backends::Call> calls{};            // and what it was asked.
  std::string streamed{};                         // What it streams, if it is not what it says,
  bool streamed_whole = false;                    // and whether in one piece.
  store::Milliseconds now = 1'000'000'000'000;

  turns::Settings& settings() { return *settings_; }
  turns::Agent& agent() { return settings_->agents.at("default"); }
  turns::Engine& engine() { return *engine_; }
  turns::Worker& worker() { return *worker_; }
  store::Store& store() { return *failing_; }
  RepeatingStore& repeating_store() { return *repeating_; }
  FailingStore& failing_store() { return *failing_; }

  // The backend says a first word and then nothing more.
  void hold_answers() { holds_ = true; }
  void fail_settling(int times) { failing_->settlings_to_fail = times; }

  turns::Outcome execute(contracts::AgentExecuteRequest request);
  std::vector<turns::Outcome> execute_together(const contracts::AgentExecuteRequest& request,
                                               int count);
  std::shared_ptr<turns::TurnLog> begin(contracts::AgentExecuteRequest request);

  // Until nothing runs any more.
  void run_until_idle();

  template <class T>
  T run(boost::asio::awaitable<T> work) {
    auto done = boost::asio::co_spawn(loop_, std::move(work), boost::asio::use_future);
    while (done.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      loop_.restart();
      loop_.run_one();
    }
    return done.get();
  }

 private:
  class Told;

  std::unique_ptr<store::Store> store_;
  std::unique_ptr<RepeatingStore> repeating_;
  std::unique_ptr<FailingStore> failing_;
  boost::asio::io_context loop_{1};
  std::shared_ptr<turns::Settings> settings_;
  std::unique_ptr<turns::Worker> worker_;
  std::unique_ptr<turns::Engine> engine_;
  bool holds_ = false;
};

}  // namespace treaty::testing
