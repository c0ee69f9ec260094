#include "treaty/cli/bridge/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include "treaty/bridge/names.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPeriod{200};
constexpr const char* kClearLine = "\r\x1b[K";

std::string tokens_in(const json::ObjectText& metadata) {
  const auto input = metadata.find_integer("input_tokens").value_or(-1);
  const auto output = metadata.find_integer("output_tokens").value_or(-1);
  if (input < 0 || output < 0) return {};
  return fmt::format(" · {} tokens in, {} out", input, output);
}

// Who answered, and for whom, when nobody has the name that was asked for.
std::string agent_text(const bridge::Exchange& exchange,
                       const contracts::BridgeResponse& response) {
  const std::string agent = response.metadata.find_text("agent").value_or("");
  if (agent.empty()) return {};
  const auto& request = exchange.request.document;
  const bool is_wanted = !request || request->agent_name == agent;
  return fmt::format(" · agent {}{}", harmless(agent),
                     is_wanted ? "" : fmt::format(" (for {})", harmless(request->agent_name)));
}

std::string response_text(const contracts::BridgeResponse& response) {
  if (const auto* error = std::get_if<contracts::BridgeError>(&response.outcome)) {
    return fmt::format("error{}: {}", error->error_type ? " " + harmless(*error->error_type) : "",
                       harmless(error->error_message));
  }
  if (const auto* timeout = std::get_if<contracts::BridgeTimeout>(&response.outcome)) {
    return fmt::format("timeout: {}", harmless(timeout->error_message));
  }
  return "success";
}

}  // namespace

std::string phase_text(const bridge::Exchange& exchange) {
  const auto& request = exchange.request.document;
  auto number = request ? request->phase : std::nullopt;
  if (!number) number = bridge::phase_of_suffix(exchange.suffix);
  const std::string name = request && request->phase_name ? harmless(*request->phase_name) : "";
  if (number && !name.empty()) return fmt::format("phase {} ({})", *number, name);
  if (number) return fmt::format("phase {}", *number);
  return name.empty() ? "request" : fmt::format("phase {}", name);
}

std::string answer_line(const bridge::Exchange& exchange,
                        const contracts::BridgeResponse& response) {
  return fmt::format("{}{} · {:.1f} s{} · {}", phase_text(exchange), agent_text(exchange, response),
                     response.duration_seconds, tokens_in(response.metadata),
                     response_text(response));
}

Repeater::Repeater(std::chrono::milliseconds first, std::function<void()> act)
    : thread_([this, first, act = std::move(act)] {
        for (auto time = Clock::now() + first; wait_until(time); time = Clock::now() + kPeriod) {
          has_acted_ = true;
          act();
        }
      }) {}

Repeater::~Repeater() {
  {
    const MutexLock lock(mutex_);
    is_stopped_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

// False when it is not wanted any more.
bool Repeater::wait_until(Clock::time_point time) {
  MutexLock lock(mutex_);
  while (!is_stopped_ && changed_.wait_until(lock, time)) {
  }
  return !is_stopped_;
}

void tell_beside_counter(const std::string& line) {
  print_error("{}{}\n", isatty(STDERR_FILENO) == 0 ? "" : kClearLine, line);
}

Waiting::Waiting(const bridge::Exchange& exchange, const std::string& agent) {
  if (isatty(STDERR_FILENO) == 0) return;
  std::string what = fmt::format("{} · agent {}", phase_text(exchange), harmless(agent));
  counter_.emplace(std::chrono::milliseconds(0), [what = std::move(what), began = Clock::now()] {
    const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
    print_error("{}{} · {:.1f} s", kClearLine, what, seconds);
  });
}

Waiting::~Waiting() {
  if (!counter_) return;
  counter_.reset();
  print_error("{}", kClearLine);
}

}  // namespace treaty::cli
