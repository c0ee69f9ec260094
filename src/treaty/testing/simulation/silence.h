// Hears and sees everything, and keeps nothing.
#pragma once

#include "treaty/backends/backend.h"
#include "treaty/dispatch/dispatched.h"

namespace treaty::testing {

class Silence : public backends::Sink, public dispatch::Observer {
 public:
  void on_text(std::string_view) override {}
};

}  // namespace treaty::testing
