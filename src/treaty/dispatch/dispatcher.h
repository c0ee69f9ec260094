// Tries the backends of a chain in their order of preference until one answers.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "treaty/backends/backend.h"
#include "treaty/dispatch/choice.h"

namespace treaty::dispatch {

using Backends = std::map<std::string, std::shared_ptr<backends::Backend>, std::less<>>;

// One attempt, for whoever keeps a diary of them.
struct Attempt {
  const Choice& choice;
  const contracts::AgentResult& result;
};

// Belongs to one event loop, as its backends do.
class Dispatcher {
 public:
  explicit Dispatcher(Backends backends);

  // Asks the first choice; the next one when it failed before any text came and the failure is not
  // the call's own fault. Cancelling the coroutine ends the call in hand.
  boost::asio::awaitable<contracts::AgentResult> run(
      std::span<const Choice> chain, backends::Call call, backends::Sink& sink,
      std::function<void(const Attempt&)> on_attempt);

 private:
  Backends backends_;
};

// True when another backend may do better with the same call.
bool is_worth_switching(const contracts::AgentError& error);

}  // namespace treaty::dispatch
