// A program beside an event loop: it is told something, its lines or all of its output are read,
// and it ends with everything that it has started.
//
// A Child belongs to the thread of its event loop, which outlives it. One exchange at a time.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "treaty/base/process/spawn.h"

namespace treaty::process {

using Time = std::chrono::steady_clock::time_point;

struct Limits {
  std::size_t output_bytes = std::size_t{16} << 20U;  // That wait to be taken.
  std::size_t error_bytes = std::size_t{4} << 10U;    // Of stderr, its end.
};

enum class Until : std::uint8_t {
  line,  // It goes on afterwards;
  end,   // or its input ends after what it is told, and everything it says is read.
};

enum class Reading : std::uint8_t {
  complete,   // The line or the whole output is there.
  closed,     // It ended, or closed its output, without a line.
  too_large,  // More than the limit.
  timed_out,
  cancelled,
};

// How a program ended.
struct ExitStatus {
  int code = 0;
  int signal = 0;  // Not 0: it was ended by one.
  bool is_success() const { return code == 0 && signal == 0; }
};
std::string text_of(const ExitStatus& exit);  // "exit status 3", "signal 9 (Killed)".

// The last line that says something, fit for a message; empty when there is none.
std::string last_error_line(std::string_view errors);

class Child {
 public:
  static std::expected<std::unique_ptr<Child>, std::string> start(
      const boost::asio::any_io_executor& executor, const Program& program,
      const Limits& limits = {});

  // Ends its process group: SIGTERM, and SIGKILL a second later or when the event loop goes away.
  // Of a program that has ended and may be outlived nothing else is ended.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Tells it `input` and reads meanwhile, so that neither waits for the other. Cancelling the
  // coroutine ends the exchange, not the program.
  boost::asio::awaitable<Reading> exchange(std::string_view input, Until until, Time deadline);

  std::string take_line();    // After `complete`; without its end.
  std::string take_output();  // All there is.

  // Nothing when it still runs then.
  boost::asio::awaitable<std::optional<ExitStatus>> wait_for_end(Time deadline);

  // The end of what it wrote to stderr.
  const std::string& errors() const;

 private:
  class Pipes;

  Child(boost::asio::any_io_executor executor, Spawned spawned, const Limits& limits,
        bool may_be_outlived);
  boost::asio::awaitable<Reading> follow(Until until, Time deadline);
  std::optional<ExitStatus> find_end() const;

  boost::asio::any_io_executor executor_;
  std::shared_ptr<Pipes> pipes_;
  pid_t pid_;
  bool may_be_outlived_;
};

// A program that was run to its end, or to the deadline.
struct Run {
  Reading reading = Reading::complete;  // Unless it is complete, the program was ended by us.
  ExitStatus exit{};                    // Of a complete one.
  std::string output{};
  std::string errors{};  // The end of what it wrote to stderr.
};

// Tells it `input` and reads until it has ended. The error says why it cannot be started.
boost::asio::awaitable<std::expected<Run, std::string>> run(Program program, std::string_view input,
                                                            Time deadline, Limits limits = {});

}  // namespace treaty::process
