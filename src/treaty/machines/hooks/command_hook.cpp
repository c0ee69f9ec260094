#include <fmt/format.h>

#include <array>
#include <boost/asio/this_coro.hpp>
#include <cstdint>

#include "treaty/base/json_dynamic.h"
#include "treaty/base/process/child.h"
#include "treaty/base/secrets.h"
#include "treaty/base/try.h"
#include "treaty/machines/hooks/arguments.h"
#include "treaty/machines/hooks/built_in_hooks.h"

namespace treaty::machines {

namespace asio = boost::asio;

namespace {

using Answer = std::expected<HookReply, std::string>;

// For a program that has closed its output to be gone, too.
constexpr std::chrono::milliseconds kPatienceForEnd{1'000};

std::string line_of(const HookEvent& event, std::int64_t id) {
  json::Writer writer;
  writer.begin_object().member("id", id);
  for (const auto& [name, value] : event) {
    if (name == "id") continue;
    json::write(writer.name(name), value);
  }
  return writer.end_object().take() + "\n";
}

// The reply without its id, or what is wrong with it.
Answer read_reply(std::string_view line, std::int64_t id) {
  const json::Document document(line, reply_options());
  const auto root = document.root();
  if (!document.faults().empty() || !root) {
    return std::unexpected(
        fmt::format("answered with a line that is not JSON: {}",
                    document.faults().empty() ? "it is empty" : document.faults().front().message));
  }
  if (!root->is_object()) return std::unexpected("answered with a line that is not an object");
  const auto given = root->members().find("id");
  if (!given) return std::unexpected(fmt::format("answered without the id {}", id));
  if (!given->is_number() || given->integer() != id) {
    return std::unexpected(fmt::format("answered with another id than {}", id));
  }
  HookReply reply = json::to_dynamic_object(*root);
  reply.stable_erase(reply.find("id"));
  return reply;
}

class CommandHook final : public Hook {
 public:
  CommandHook(process::Program program, std::chrono::milliseconds timeout)
      : program_(std::move(program)), timeout_(timeout) {}

  asio::awaitable<Answer> handle(const HookEvent& event) override;
  bool is_outside() const override { return true; }

 private:
  asio::awaitable<Answer> ask(const HookEvent& event);
  asio::awaitable<std::string> explain(process::Reading reading) const;

  process::Program program_;
  std::chrono::milliseconds timeout_;
  std::unique_ptr<process::Child> child_{};  // From the first event on.
  std::int64_t last_id_ = 0;
};

// A program that failed has lost its place in the conversation: the next event begins another one.
asio::awaitable<Answer> CommandHook::handle(const HookEvent& event) {
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  Answer answer = co_await ask(event);
  if (!answer) {
    child_.reset();
    answer = std::unexpected(
        fmt::format("the hook `{}` {}", process::text_of(program_), mask_secrets(answer.error())));
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  co_return answer;
}

asio::awaitable<Answer> CommandHook::ask(const HookEvent& event) {
  if (!child_) {
    TREATY_CO_TRY(child_, process::Child::start(co_await asio::this_coro::executor, program_));
  }
  const std::int64_t id = ++last_id_;
  const std::string line = line_of(event, id);
  const auto deadline = std::chrono::steady_clock::now() + timeout_;
  const auto reading = co_await child_->exchange(line, process::Until::line, deadline);
  if (reading != process::Reading::complete) co_return std::unexpected(co_await explain(reading));
  co_return read_reply(child_->take_line(), id);
}

asio::awaitable<std::string> CommandHook::explain(process::Reading reading) const {
  using process::Reading;
  std::string text;
  if (reading == Reading::cancelled) {
    text = "was not waited for any longer";
  } else if (reading == Reading::timed_out) {
    text = fmt::format("did not answer within {:g} s",
                       std::chrono::duration<double>(timeout_).count());
  } else if (reading == Reading::too_large) {
    text = "answered with a line of more than 16 MiB";
  } else {
    const auto end =
        co_await child_->wait_for_end(std::chrono::steady_clock::now() + kPatienceForEnd);
    text = end ? fmt::format("ended with {} before it answered", process::text_of(*end))
               : "closed its output before it answered";
  }
  const std::string words = process::last_error_line(child_->errors());
  co_return words.empty() ? text : fmt::format("{}: {}", text, words);
}

}  // namespace

std::expected<std::shared_ptr<Hook>, std::string> make_command_hook(const HookOrder& order) {
  constexpr std::array<std::string_view, 2> kKnown = {"command", "timeout"};
  Arguments arguments("command", order.arguments);
  arguments.allow(kKnown);
  process::Program program{.words = arguments.required_words("command"),
                           .directory = order.directory.empty() ? "." : order.directory};
  const auto timeout = arguments.seconds("timeout", kHookTimeout);
  if (!arguments.fault().empty()) return std::unexpected(arguments.fault());
  return std::make_shared<CommandHook>(std::move(program), timeout);
}

}  // namespace treaty::machines
