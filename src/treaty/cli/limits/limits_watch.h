// Watches the limits of a gateway: asks every second, and shows what it says.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <optional>

#include "treaty/cli/limits/limits_source.h"
#include "treaty/cli/limits/live_screen.h"
#include "treaty/cli/shared/signals.h"

namespace treaty::cli::limits_watch {

constexpr const char* kLimitsWatch = "limits watch";  // The command, for messages.

enum class WatchForm {
  screen,  // Drawn in place, every second.
  table,   // Printed when something has changed.
  json,    // Every answer, a line each.
};

// Belongs to the main thread; the signals outlive it.
class LimitsWatch {
 public:
  LimitsWatch(RemoteAddress address, Signals& signals, WatchForm form);
  ~LimitsWatch();
  LimitsWatch(const LimitsWatch&) = delete;
  LimitsWatch& operator=(const LimitsWatch&) = delete;

  // One answer. The exit code.
  int look_once();

  // Until a signal comes, or something is wrong that waiting does not mend.
  int run();

 private:
  using Clock = std::chrono::steady_clock;

  void start(boost::asio::awaitable<void> task, boost::asio::cancellation_signal& stop);
  boost::asio::awaitable<void> look();
  boost::asio::awaitable<void> poll();
  boost::asio::awaitable<void> redraw();
  void take(AnsweredLimits answer);
  void tell(const ToldLimits& told);
  void tell_trouble(const LimitsTrouble& trouble) const;
  void draw();
  std::string notice() const;
  void listen();
  void hear(int signal);
  void end(int exit_code);

  Signals& signals_;
  WatchForm form_;
  boost::asio::io_context context_{1};
  boost::asio::posix::stream_descriptor signal_;
  boost::asio::cancellation_signal stop_polling_{};
  boost::asio::cancellation_signal stop_drawing_{};
  LimitsSource source_;
  std::optional<LiveScreen> screen_{};
  std::optional<LimitsView> view_{};
  Clock::time_point answered_{};
  std::optional<LimitsTrouble> trouble_{};
  std::optional<int> exit_code_{};
  int interrupted_code_ = 0;
};

}  // namespace treaty::cli::limits_watch
