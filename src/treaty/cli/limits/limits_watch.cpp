#include "treaty/cli/limits/limits_watch.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "treaty/cli/command_line.h"
#include "treaty/cli/limits/limits_drawing.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli::limits_watch {
namespace {

namespace asio = boost::asio;

constexpr int kInterrupted = 130;
constexpr std::chrono::seconds kPeriod{1};
constexpr double kSilence = 3;  // Seconds without an answer that are worth a word.

double seconds_since(std::chrono::steady_clock::time_point moment) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - moment).count();
}

void print_lines(std::span<const std::string> lines) {
  for (const std::string& line : lines) print("{}\n", line);
}

}  // namespace

LimitsWatch::LimitsWatch(RemoteAddress address, Signals& signals, WatchForm form)
    : signals_(signals),
      form_(form),
      signal_(context_, signals.descriptor()),
      source_(context_, std::move(address)) {
  listen();
}

LimitsWatch::~LimitsWatch() { signal_.release(); }  // The signals close it.

int LimitsWatch::look_once() {
  interrupted_code_ = kInterrupted;
  start(look(), stop_polling_);
  context_.run();
  return exit_code_.value_or(kViolated);
}

int LimitsWatch::run() {
  answered_ = Clock::now();
  if (form_ == WatchForm::screen) screen_.emplace();
  start(poll(), stop_polling_);
  if (screen_) start(redraw(), stop_drawing_);
  context_.run();
  screen_.reset();
  if (trouble_ && !trouble_->may_pass) tell_trouble(*trouble_);
  return exit_code_.value_or(kViolated);
}

void LimitsWatch::start(asio::awaitable<void> task, asio::cancellation_signal& stop) {
  asio::co_spawn(context_, std::move(task),
                 asio::bind_cancellation_slot(stop.slot(), [](const std::exception_ptr&) {}));
}

asio::awaitable<void> LimitsWatch::look() {
  const AnsweredLimits answer = co_await source_.ask();
  if (exit_code_) co_return;
  if (answer) {
    tell(*answer);
  } else {
    tell_trouble(answer.error());
  }
  end(answer ? kOk : answer.error().exit_code);
}

asio::awaitable<void> LimitsWatch::poll() {
  asio::steady_timer timer(context_);
  while (!exit_code_) {
    const auto asked = Clock::now();
    AnsweredLimits answer = co_await source_.ask();
    if (exit_code_) co_return;
    take(std::move(answer));
    timer.expires_at(asked + kPeriod);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

// What counts down goes on while an answer is awaited.
asio::awaitable<void> LimitsWatch::redraw() {
  asio::steady_timer timer(context_);
  while (!exit_code_) {
    draw();
    timer.expires_after(kPeriod);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

void LimitsWatch::take(AnsweredLimits answer) {
  if (!answer) {
    const bool is_news = !trouble_ || trouble_->text != answer.error().text;
    trouble_ = std::move(answer.error());
    if (!trouble_->may_pass) return end(trouble_->exit_code);
    if (is_news && !screen_) {
      print_error("treaty {}: {}: {}; trying again every second\n", kLimitsWatch, source_.address(),
                  trouble_->text);
    }
    return;
  }
  if (trouble_ && !screen_) print_error("treaty {}: it answers\n", kLimitsWatch);
  trouble_.reset();
  answered_ = Clock::now();
  const bool is_news = !view_ || without_times(*view_) != without_times(answer->view);
  view_ = answer->view;
  if (screen_) {
    draw();
  } else if (is_news || form_ == WatchForm::json) {
    tell(*answer);
  }
  if (std::fflush(stdout) != 0) end(kViolated);
}

// One answer, where nothing is drawn in place.
void LimitsWatch::tell(const ToldLimits& told) {
  if (form_ == WatchForm::json) return print_document(told.json + "\n");
  if (form_ == WatchForm::screen) {
    return print_lines(draw_limits(
        told.view, 0, {.width = screen_size().width, .has_colors = stdout_has_colors()}));
  }
  print("{}\n", told.view.at);
  print_lines(draw_limits(told.view, 0, {.has_bars = false}));
  print("\n");
}

void LimitsWatch::tell_trouble(const LimitsTrouble& trouble) const {
  print_error("treaty {}: {}: {}\nNext: {}\n", kLimitsWatch, source_.address(), trouble.text,
              trouble.next);
}

void LimitsWatch::draw() {
  const ScreenSize size = screen_size();
  const bool colors = stdout_has_colors();
  std::vector<std::string> lines = {fitted(notice(), size.width)};
  if (trouble_) lines[0] = painted(lines[0], Color::red, colors);
  if (view_) {
    // A line for the notice, and one for the cursor.
    const std::size_t height = size.height > 3 ? size.height - 2 : 1;
    const auto drawn = draw_limits(*view_, seconds_since(answered_),
                                   {.width = size.width, .height = height, .has_colors = colors});
    lines.insert(lines.end(), drawn.begin(), drawn.end());
  }
  screen_->draw(lines);
}

std::string LimitsWatch::notice() const {
  const double silence = seconds_since(answered_);
  const std::string ago = countdown_text(silence);
  if (trouble_) {
    return fmt::format("{}: {}; trying again, {} without an answer", source_.address(),
                       trouble_->text, ago);
  }
  if (silence > kSilence) return fmt::format("{}: no answer for {}", source_.address(), ago);
  return fmt::format("{} · Ctrl-C leaves", source_.address());
}

void LimitsWatch::listen() {
  signal_.async_wait(asio::posix::stream_descriptor::wait_read,
                     [this](const boost::system::error_code& failed) {
                       if (failed) return;
                       if (const auto number = signals_.take()) hear(*number);
                       if (!exit_code_) listen();
                     });
}

void LimitsWatch::hear(int signal) {
  if (signal != SIGTSTP) return end(interrupted_code_);
  if (screen_) screen_->put_aside();
  kill(getpid(), SIGSTOP);
  if (screen_) screen_->take_up();
}

void LimitsWatch::end(int exit_code) {
  if (!exit_code_) exit_code_ = exit_code;
  stop_polling_.emit(asio::cancellation_type::terminal);
  stop_drawing_.emit(asio::cancellation_type::terminal);
  signal_.cancel();
}

}  // namespace treaty::cli::limits_watch
