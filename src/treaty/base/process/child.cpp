#include "treaty/base/process/child.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

#include "treaty/base/notifier.h"
#include "treaty/base/text.h"
#include "treaty/base/try.h"

namespace treaty::process {

namespace asio = boost::asio;
using asio::posix::stream_descriptor;
using boost::system::error_code;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kGrace{1000};       // Between SIGTERM and SIGKILL.
constexpr milliseconds kLook{100};         // Until it is looked whether it lives.
constexpr milliseconds kShortestPause{1};  // When nothing is left to come but its end,
constexpr milliseconds kLongestPause{20};  // and nothing tells of it.
constexpr std::size_t kChunk = std::size_t{64} << 10U;
constexpr int kPipeReads = 32;           // Chunks of the largest pipe, and some more.
constexpr std::size_t kMostWords = 300;  // Bytes of the last words.

Time now() { return std::chrono::steady_clock::now(); }

// Of a process that stays to be waited for, so that its number and its group's stay its own.
std::optional<ExitStatus> end_of(pid_t pid) {
  siginfo_t about{};
  if (waitid(P_PID, static_cast<id_t>(pid), &about, WEXITED | WNOHANG | WNOWAIT) != 0)
    return ExitStatus{};
  if (about.si_pid != pid) return std::nullopt;
  if (about.si_code == CLD_EXITED) return ExitStatus{.code = about.si_status};
  return ExitStatus{.signal = about.si_status};
}

// Holds SIGPIPE back while this thread writes: a reader that has gone is an error of the write, not
// our end.
class WithoutPipeSignal {
 public:
  WithoutPipeSignal() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  // What came meanwhile is taken away, unless somebody else holds it back, too.
  ~WithoutPipeSignal() {
    constexpr timespec kAtOnce{};
    if (sigismember(&before_, SIGPIPE) == 0) {
      while (sigtimedwait(&set_, nullptr, &kAtOnce) > 0) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutPipeSignal(const WithoutPipeSignal&) = delete;
  WithoutPipeSignal& operator=(const WithoutPipeSignal&) = delete;

 private:
  sigset_t set_{};
  sigset_t before_{};
};

// What is left of a group goes with its leader, whose name is given back.
class Group {
 public:
  explicit Group(pid_t leader) : leader_(leader) {}
  Group(Group&& other) noexcept : leader_(std::exchange(other.leader_, -1)) {}
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  Group& operator=(Group&&) = delete;
  ~Group() {
    if (leader_ < 0) return;
    kill(-leader_, SIGKILL);
    while (waitpid(leader_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  pid_t leader() const { return leader_; }

 private:
  pid_t leader_;
};

asio::awaitable<void> await_end(Group group) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  const Time last = now() + kGrace;
  milliseconds pause = kShortestPause;
  while (!end_of(group.leader()) && now() < last) {
    timer.expires_after(pause);
    pause = std::min(pause * 2, kLongestPause);
    error_code ignored;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
}

}  // namespace

std::string text_of(const ExitStatus& exit) {
  if (exit.signal == 0) return fmt::format("exit status {}", exit.code);
  return fmt::format("signal {} ({})", exit.signal, strsignal(exit.signal));
}

std::string last_error_line(std::string_view errors) {
  std::string_view last;
  for (std::size_t begin = 0; begin < errors.size();) {
    const Line line = line_at(errors, begin);
    if (!trimmed(line.text).empty()) last = trimmed(line.text);
    begin = line.next;
  }
  std::string words = repaired_utf8(last);
  std::ranges::replace_if(words, [](unsigned char c) { return c < ' ' || c == 127; }, ' ');
  return std::string(utf8_prefix(words, kMostWords));
}

// The three streams. Whoever waits on them keeps them alive; between two exchanges nobody does.
class Child::Pipes : public std::enable_shared_from_this<Pipes> {
 public:
  Pipes(const asio::any_io_executor& executor, Spawned spawned, const Limits& limits)
      : in_(executor, spawned.in.release()),
        out_(executor, spawned.out.release()),
        err_(executor, spawned.err.release()),
        waiter_(executor),
        limits_(limits) {}

  void begin(std::string_view input, bool ends);
  void pause();
  void close();

  asio::awaitable<bool> sleep_until(Time time) { return waiter_.wait_until(time); }

  // What is there without waiting, and no more than a pipe holds: others may go on writing to it.
  void drain() {
    for (int reads = 0; reads < kPipeReads && take_output(); ++reads) {
    }
    for (int reads = 0; reads < kPipeReads && take_errors(); ++reads) {
    }
  }

  bool is_closed() const { return !out_.is_open(); }
  bool is_too_large() const { return output_.size() > limits_.output_bytes; }
  bool has_line();
  std::string take_line();
  std::string take_output_text() {
    scanned_ = 0;
    return std::exchange(output_, {});
  }
  const std::string& errors() const { return errors_; }

 private:
  enum class Taken : std::uint8_t { some, later, end };

  void write();
  void listen(stream_descriptor& from, bool (Pipes::*take)());
  static Taken read_some(stream_descriptor& from, std::string& to);
  bool take_output();
  bool take_errors();

  stream_descriptor in_;
  stream_descriptor out_;
  stream_descriptor err_;
  Waiter waiter_;  // Notified of everything that was read.
  Limits limits_;
  std::string_view input_{};
  bool input_ends_ = false;
  std::uint64_t round_ = 0;  // Of exchanges: what was waited for in an earlier one does not matter.
  std::string output_{};
  std::size_t scanned_ = 0;  // Bytes of the output in which no line ends.
  std::string errors_{};
};

void Child::Pipes::begin(std::string_view input, bool ends) {
  ++round_;
  input_ = input;
  input_ends_ = ends;
  if (in_.is_open()) write();
  if (out_.is_open()) listen(out_, &Pipes::take_output);
  if (err_.is_open()) listen(err_, &Pipes::take_errors);
}

void Child::Pipes::pause() {
  ++round_;
  input_ = {};
  error_code ignored;
  for (stream_descriptor* stream : {&in_, &out_, &err_}) {
    if (stream->is_open()) stream->cancel(ignored);
  }
}

void Child::Pipes::close() {
  ++round_;
  error_code ignored;
  for (stream_descriptor* stream : {&in_, &out_, &err_}) stream->close(ignored);
}

// A program that does not want to know more is asked for its answer all the same.
void Child::Pipes::write() {
  const WithoutPipeSignal held_back;
  bool is_open = true;
  while (!input_.empty() && is_open) {
    const ssize_t written = ::write(in_.native_handle(), input_.data(), input_.size());
    if (written >= 0) {
      input_.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      return in_.async_wait(stream_descriptor::wait_write,
                            [self = shared_from_this(), round = round_](const error_code& error) {
                              if (!error && round == self->round_) self->write();
                            });
    } else if (errno != EINTR) {
      is_open = false;
    }
  }
  error_code ignored;
  if (input_ends_ || !is_open) in_.close(ignored);
}

void Child::Pipes::listen(stream_descriptor& from, bool (Pipes::*take)()) {
  from.async_wait(stream_descriptor::wait_read, [self = shared_from_this(), round = round_, &from,
                                                 take](const error_code& error) {
    if (error || round != self->round_) return;
    (*self.*take)();
    self->waiter_.waker()->notify();
    if (from.is_open() && !self->is_too_large()) self->listen(from, take);
  });
}

Child::Pipes::Taken Child::Pipes::read_some(stream_descriptor& from, std::string& to) {
  std::array<char, kChunk> piece;  // NOLINT: filled by read.
  const ssize_t count = read(from.native_handle(), piece.data(), piece.size());
  if (count > 0) {
    to.append(piece.data(), static_cast<std::size_t>(count));
    return Taken::some;
  }
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return Taken::later;
  error_code ignored;
  from.close(ignored);
  return Taken::end;
}

bool Child::Pipes::take_output() {
  if (!out_.is_open() || is_too_large()) return false;
  return read_some(out_, output_) == Taken::some;
}

bool Child::Pipes::take_errors() {
  if (!err_.is_open()) return false;
  const Taken taken = read_some(err_, errors_);
  if (errors_.size() > limits_.error_bytes) errors_.erase(0, errors_.size() - limits_.error_bytes);
  return taken == Taken::some;
}

bool Child::Pipes::has_line() {
  const std::size_t end = output_.find('\n', scanned_);
  scanned_ = end == std::string::npos ? output_.size() : end;
  return end != std::string::npos;
}

std::string Child::Pipes::take_line() {
  std::string line = output_.substr(0, scanned_);
  output_.erase(0, scanned_ + 1);
  scanned_ = 0;
  return line;
}

Child::Child(asio::any_io_executor executor, Spawned spawned, const Limits& limits,
             bool may_be_outlived)
    : executor_(std::move(executor)), pid_(spawned.pid), may_be_outlived_(may_be_outlived) {
  pipes_ = std::make_shared<Pipes>(executor_, std::move(spawned), limits);
}

std::expected<std::unique_ptr<Child>, std::string> Child::start(
    const asio::any_io_executor& executor, const Program& program, const Limits& limits) {
  TREATY_TRY(auto spawned, spawn(program));
  return std::unique_ptr<Child>(
      new Child(executor, std::move(spawned), limits, program.may_be_outlived));
}

Child::~Child() {
  pipes_->close();
  const bool has_ended = find_end().has_value();
  if (has_ended && may_be_outlived_) {
    waitpid(pid_, nullptr, 0);
    return;
  }
  Group group(pid_);
  if (has_ended) return;
  kill(-pid_, SIGTERM);
  asio::co_spawn(executor_, await_end(std::move(group)), asio::detached);
}

std::optional<ExitStatus> Child::find_end() const { return end_of(pid_); }

asio::awaitable<Reading> Child::exchange(std::string_view input, Until until, Time deadline) {
  // Also when the coroutine is destroyed before its end: the input goes with it.
  struct Pausing {
    std::shared_ptr<Pipes> pipes;
    explicit Pausing(std::shared_ptr<Pipes> paused) : pipes(std::move(paused)) {}
    Pausing(const Pausing&) = delete;
    Pausing& operator=(const Pausing&) = delete;
    ~Pausing() { pipes->pause(); }
  };
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  Reading reading = Reading::complete;
  {
    const Pausing pausing(pipes_);
    pipes_->begin(input, until == Until::end);
    reading = co_await follow(until, deadline);
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  co_return reading;
}

// Whoever has ended says no more, even if somebody whom it has started keeps its output open.
asio::awaitable<Reading> Child::follow(Until until, Time deadline) {
  const Reading at_end = until == Until::end ? Reading::complete : Reading::closed;
  while (true) {
    const bool has_ended = find_end().has_value();
    if (has_ended) pipes_->drain();
    if (until == Until::line && pipes_->has_line()) co_return Reading::complete;
    if (pipes_->is_too_large()) co_return Reading::too_large;
    if (has_ended || pipes_->is_closed()) co_return at_end;
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) co_return Reading::cancelled;
    if (now() >= deadline) co_return Reading::timed_out;
    co_await pipes_->sleep_until(std::min(deadline, now() + kLook));
  }
}

std::string Child::take_line() { return pipes_->take_line(); }

std::string Child::take_output() { return pipes_->take_output_text(); }

asio::awaitable<std::optional<ExitStatus>> Child::wait_for_end(Time deadline) {
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  std::optional<ExitStatus> end = find_end();
  milliseconds pause = kShortestPause;
  while (!end && now() < deadline) {
    co_await pipes_->sleep_until(std::min(deadline, now() + pause));
    pause = std::min(pause * 2, kLongestPause);
    pipes_->drain();  // It may have closed its output and still fill the other pipe.
    end = find_end();
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) break;
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  if (end) pipes_->drain();
  co_return end;
}

const std::string& Child::errors() const { return pipes_->errors(); }

asio::awaitable<std::expected<Run, std::string>> run(Program program, std::string_view input,
                                                     Time deadline, Limits limits) {
  TREATY_CO_TRY(const auto child,
                Child::start(co_await asio::this_coro::executor, program, limits));
  Run run{.reading = co_await child->exchange(input, Until::end, deadline)};
  if (run.reading == Reading::complete) {
    const auto end = co_await child->wait_for_end(deadline);
    if (end) {
      run.exit = *end;
    } else {
      run.reading = now() < deadline ? Reading::cancelled : Reading::timed_out;
    }
  }
  run.output = child->take_output();
  run.errors = child->errors();
  co_return run;
}

}  // namespace treaty::process
