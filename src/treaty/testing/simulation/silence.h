// Hears and sees everything, and keeps nothing.
#pragma once

#include "treaty/backends/backend.h"
#include "treaty/dispatch/observer.h"

namespace treaty::testing {

class Silence : public backends::Sink, public dispatch::Observer {
 public:
  void on_text(std::string_view) override {}
  void on_attempt_started(const dispatch::Choice&, int) override {}
  void on_attempt_ended(const dispatch::Choice&, int, dispatch::Seconds,
                        const contracts::AgentResult&) override {}
  void on_waiting(const dispatch::Choice&, dispatch::Seconds, std::string_view) override {}
  void on_switched(const dispatch::Choice&, const dispatch::Choice&, std::string_view) override {}
  void on_breaker(const dispatch::Choice&, bool) override {}
  void on_given_up(const dispatch::Choice&, std::string_view) override {}
};

}  // namespace treaty::testing
