// `treaty limits watch`: the quota pools and budgets of a gateway, live in the terminal.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <csignal>
#include <optional>

#include "treaty/base/try.h"
#include "treaty/cli/command_line.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/limits/limits_drawing.h"
#include "treaty/cli/shared/remote_client.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli::limits_watch {
namespace {

constexpr const char* kLimitsWatch = "limits watch";  // The command, for messages.

enum class WatchForm {
  screen,  // Drawn in place, every second.
  table,   // Printed when something has changed.
  json,    // Every answer, a line each.
};

namespace asio = boost::asio;

constexpr int kInterrupted = 130;
constexpr std::chrono::seconds kPeriod{1};

// Whoever watches wants to know soon that nobody answers.
constexpr http::FetchOptions kOptions{.timeouts = {.connect = std::chrono::seconds(5),
                                                   .first_byte = std::chrono::seconds(10),
                                                   .idle = std::chrono::seconds(10),
                                                   .total = std::chrono::seconds(20)}};

constexpr double kSilence = 3;  // Seconds without an answer that are worth a word.

double seconds_since(std::chrono::steady_clock::time_point moment) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - moment).count();
}

void print_lines(std::span<const std::string> lines) {
  for (const std::string& line : lines) print("{}\n", line);
}

// Belongs to the main thread; the signals outlive it.
class LimitsWatch {
 public:
  LimitsWatch(RemoteAddress address, Signals& signals, WatchForm form)
      : signals_(signals),
        form_(form),
        signal_(context_, signals.descriptor()),
        address_(std::move(address)),
        address_text_(harmless(address_.text)),
        client_(context_, {.proxy_from_environment = address_.through_proxy}) {
    listen();
  }
  ~LimitsWatch() { signal_.release(); }  // The signals close it.
  LimitsWatch(const LimitsWatch&) = delete;
  LimitsWatch& operator=(const LimitsWatch&) = delete;

  // One answer. The exit code.
  int look_once() {
    interrupted_code_ = kInterrupted;
    start(look(), stop_polling_);
    context_.run();
    return exit_code_.value_or(kViolated);
  }

  // Until a signal comes, or something is wrong that waiting does not mend.
  int run() {
    answered_ = Clock::now();
    if (form_ == WatchForm::screen) screen_.emplace();
    start(poll(), stop_polling_);
    if (screen_) start(redraw(), stop_drawing_);
    context_.run();
    screen_.reset();
    if (trouble_ && !trouble_->may_pass) tell_trouble(*trouble_);
    return exit_code_.value_or(kViolated);
  }

 private:
  using Clock = std::chrono::steady_clock;

  asio::awaitable<AnsweredLimits> ask() {
    http::Request request;
    request.headers.set("accept", "application/json");
    address_.sign(request);
    const http::Url url = address_.url_of("/v1/limits");
    co_return read_limits_answer(co_await client_.fetch_all(url, std::move(request), kOptions));
  }

  void start(asio::awaitable<void> task, asio::cancellation_signal& stop) {
    asio::co_spawn(context_, std::move(task),
                   asio::bind_cancellation_slot(stop.slot(), [](const std::exception_ptr&) {}));
  }

  asio::awaitable<void> look() {
    const AnsweredLimits answer = co_await ask();
    if (exit_code_) co_return;
    if (answer) {
      tell(*answer);
    } else {
      tell_trouble(answer.error());
    }
    end(answer ? kOk : answer.error().exit_code);
  }

  asio::awaitable<void> poll() {
    asio::steady_timer timer(context_);
    while (!exit_code_) {
      const auto asked = Clock::now();
      AnsweredLimits answer = co_await ask();
      if (exit_code_) co_return;
      take(std::move(answer));
      timer.expires_at(asked + kPeriod);
      co_await timer.async_wait(asio::use_awaitable);
    }
  }

  // What counts down goes on while an answer is awaited.
  asio::awaitable<void> redraw() {
    asio::steady_timer timer(context_);
    while (!exit_code_) {
      draw();
      timer.expires_after(kPeriod);
      co_await timer.async_wait(asio::use_awaitable);
    }
  }

  void take(AnsweredLimits answer) {
    if (!answer) {
      const bool is_news = !trouble_ || trouble_->text != answer.error().text;
      trouble_ = std::move(answer.error());
      if (!trouble_->may_pass) return end(trouble_->exit_code);
      if (is_news && !screen_) {
        print_error("treaty {}: {}: {}; trying again every second\n", kLimitsWatch, address_text_,
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
  void tell(const ToldLimits& told) {
    if (form_ == WatchForm::json) return print_document(told.json + "\n");
    if (form_ == WatchForm::screen) {
      return print_lines(draw_limits(
          told.view, 0, {.width = screen_size().width, .has_colors = stdout_has_colors()}));
    }
    print("{}\n", told.view.at);
    print_lines(draw_limits(told.view, 0, {.has_bars = false}));
    print("\n");
  }

  void tell_trouble(const LimitsTrouble& trouble) const {
    print_error("treaty {}: {}: {}\nNext: {}\n", kLimitsWatch, address_text_, trouble.text,
                trouble.next);
  }

  void draw() {
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

  std::string notice() const {
    const double silence = seconds_since(answered_);
    const std::string ago = countdown_text(silence);
    if (trouble_) {
      return fmt::format("{}: {}; trying again, {} without an answer", address_text_,
                         trouble_->text, ago);
    }
    if (silence > kSilence) return fmt::format("{}: no answer for {}", address_text_, ago);
    return fmt::format("{} · Ctrl-C leaves", address_text_);
  }

  void listen() {
    signal_.async_wait(asio::posix::stream_descriptor::wait_read,
                       [this](const boost::system::error_code& failed) {
                         if (failed) return;
                         if (const auto number = signals_.take()) hear(*number);
                         if (!exit_code_) listen();
                       });
  }

  void hear(int signal) {
    if (signal != SIGTSTP) return end(interrupted_code_);
    if (screen_) screen_->put_aside();
    kill(getpid(), SIGSTOP);
    if (screen_) screen_->take_up();
  }

  void end(int exit_code) {
    if (!exit_code_) exit_code_ = exit_code;
    stop_polling_.emit(asio::cancellation_type::terminal);
    stop_drawing_.emit(asio::cancellation_type::terminal);
    signal_.cancel();
  }

  Signals& signals_;
  WatchForm form_;
  asio::io_context context_{1};
  asio::posix::stream_descriptor signal_;
  asio::cancellation_signal stop_polling_{};
  asio::cancellation_signal stop_drawing_{};
  RemoteAddress address_;
  std::string address_text_;
  http::Client client_;
  std::optional<LiveScreen> screen_{};
  std::optional<LimitsView> view_{};
  Clock::time_point answered_{};
  std::optional<LimitsTrouble> trouble_{};
  std::optional<int> exit_code_{};
  int interrupted_code_ = 0;
};

constexpr const char* kUsualUrl = "http://127.0.0.1:8088";

WatchForm form_of(const Arguments& arguments) {
  if (wants_json(arguments)) return WatchForm::json;
  return stdout_is_screen() ? WatchForm::screen : WatchForm::table;
}

Result<int> run(Arguments arguments) {
  arguments.options.emplace("--url", kUsualUrl);
  TREATY_TRY(auto address, read_remote_address(arguments));
  Signals signals{SIGINT, SIGTERM, SIGTSTP};
  LimitsWatch watch(*std::move(address), signals, form_of(arguments));
  return arguments.has("--once") ? watch.look_once() : watch.run();
}

}  // namespace

Command command() {
  return {
      .name = "watch",
      .summary = "Show the quota pools and budgets of a gateway, live",
      .description =
          R"(Asks GET /v1/limits every second. On a terminal it draws in place: a bar for each window
(what is left of it), the time to its reset, who waits and runs, the breaker, and the
budgets of the day. Elsewhere it prints a table whenever something has changed. A gateway
that is gone is asked on until it is back; with --once that is exit 69.
Exit: 0 shown, or left with Ctrl-C, 1 not an answer of a gateway, 2 wrong usage, 69 nobody
there, 75 try again later, 78 a key or an address is wrong.)",
      .options = {{"--url", "URL", "The gateway (http://127.0.0.1:8088 unless given)"},
                  {"--key-env", "NAME", "The variable that holds the gateway's key"},
                  {"--once", "", "Show it once and leave"},
                  format_option("For people, or each answer as a line")},
      .examples = {{"limits watch", "The gateway of this machine"},
                   {"limits watch --url https://gateway.example --key-env GATEWAY_KEY",
                    "One elsewhere, with a key"},
                   {"limits watch --once --format json", "For a program"}},
      .run = run,
  };
}

}  // namespace treaty::cli::limits_watch
