// What dispatch does, as it does it, for whoever keeps a diary.
#pragma once

#include <string>
#include <string_view>

#include "treaty/contracts/agent_result.h"
#include "treaty/dispatch/choice.h"

namespace treaty::dispatch {

class Observer {
 public:
  virtual ~Observer() = default;

  virtual void on_attempt_started(const Choice& choice, int attempt) = 0;
  virtual void on_attempt_ended(const Choice& choice, int attempt, Seconds took,
                                const contracts::AgentResult& result) = 0;
  // `wait` is 0 when nobody knows how long it takes.
  virtual void on_waiting(const Choice& choice, Seconds wait, std::string_view reason) = 0;
  virtual void on_switched(const Choice& from, const Choice& to, std::string_view reason) = 0;
  virtual void on_breaker(const Choice& choice, bool is_open) = 0;

  // Nobody is asked any more, for that reason.
  virtual void on_given_up(const Choice& choice, std::string_view reason) = 0;
};

}  // namespace treaty::dispatch
