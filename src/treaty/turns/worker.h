// What belongs to one event loop: its backends, and the settings they were made from. A reload
// replaces both together, on the loop's own thread.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>

#include "treaty/dispatch/dispatcher.h"
#include "treaty/turns/settings.h"

namespace treaty::turns {

struct Worker {
  boost::asio::any_io_executor executor;
  std::shared_ptr<const Settings> settings;
  std::shared_ptr<dispatch::Dispatcher> dispatcher;
};

}  // namespace treaty::turns
