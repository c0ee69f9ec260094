#include <array>
#include <boost/json/array.hpp>

#include "treaty/machines/hooks/arguments.h"
#include "treaty/machines/hooks/built_in_hooks.h"
#include "treaty/machines/run/agent_values.h"
#include "treaty/templates/value.h"

namespace treaty::machines {
namespace {

using boost::json::object;
using boost::json::value;

// As the samples read it: anything but false, 0, "", [] and {}.
bool holds(const object& holder, std::string_view name) {
  const value* found = holder.if_contains(name);
  return found != nullptr && templates::is_true(*found);
}

value number_in(const object& holder, std::string_view name, std::int64_t otherwise) {
  const value* found = holder.if_contains(name);
  return found != nullptr && found->is_number() ? *found : value(otherwise);
}

bool is_exhausted(const object& window) {
  return window.contains("remaining") && window.at("remaining").is_number() &&
         machines::number_in(window, "remaining") == 0;
}

// The first one decides.
const object* find_exhausted(const object& rate_limit) {
  const List* windows = list_in(rate_limit, "windows");
  if (windows == nullptr) return nullptr;
  for (const value& window : *windows) {
    if (window.is_object() && is_exhausted(window.get_object())) return &window.get_object();
  }
  return nullptr;
}

std::string_view state_for(const object& arguments, std::string_view name,
                           std::string_view otherwise) {
  const std::string_view given = text_in(arguments, name);
  return given.empty() ? otherwise : given;
}

HookReply going_to(std::string_view state) { return {{"to_state", state}}; }

HookReply waiting_in(std::string_view state, value seconds) {
  return {{"context", object{{"wait_seconds", std::move(seconds)}}}, {"to_state", state}};
}

HookReply reply_to_limit(const object& result, const object& arguments) {
  const object* rate_limit = object_in(result, "rate_limit");
  if (rate_limit == nullptr || !holds(*rate_limit, "limited")) return {};
  const object* window = find_exhausted(*rate_limit);
  if (window == nullptr) return {};
  const std::string_view name = text_in(*window, "name");
  if (name.contains("day")) return going_to(state_for(arguments, "day", "switch_provider"));
  if (name.contains("hour")) {
    return waiting_in(state_for(arguments, "hour", "long_wait"),
                      number_in(*window, "resets_in", 3600));
  }
  return waiting_in(state_for(arguments, "minute", "short_wait"),
                    number_in(*rate_limit, "retry_after", 60));
}

HookReply reply_to(const object& result, const object& error, const object& arguments) {
  if (text_in(error, "code") == "rate_limit") return reply_to_limit(result, arguments);
  const std::string_view fatal = text_in(arguments, "fatal");
  if (holds(error, "retryable") || fatal.empty()) return {};
  return going_to(fatal);
}

class RateLimitHook final : public Hook {
 public:
  explicit RateLimitHook(const HookOrder& order)
      : arguments_(order.arguments), has_state_(order.has_state) {}

  boost::asio::awaitable<std::expected<HookReply, std::string>> handle(
      const HookEvent& event) override {
    co_return rate_limit_policy(event, arguments_, has_state_);
  }

 private:
  object arguments_;
  std::function<bool(std::string_view)> has_state_;
};

}  // namespace

HookReply rate_limit_policy(const HookEvent& event, const object& arguments,
                            const std::function<bool(std::string_view)>& has_state) {
  const object* result = object_in(event, "output");
  if (text_in(event, "event") != "state_exit" || result == nullptr) return {};
  const object* error = object_in(*result, "error");
  if (error == nullptr || error->empty()) return {};
  HookReply reply = reply_to(*result, *error, arguments);
  if (has_state && !has_state(text_in(reply, "to_state"))) return {};
  return reply;
}

std::expected<std::shared_ptr<Hook>, std::string> make_rate_limit_hook(const HookOrder& order) {
  constexpr std::array<std::string_view, 4> kKnown = {"minute", "hour", "day", "fatal"};
  Arguments arguments("rate-limit", order.arguments);
  arguments.allow(kKnown);
  for (const std::string_view name : kKnown) arguments.text(name);
  if (!arguments.fault().empty()) return std::unexpected(arguments.fault());
  return std::make_shared<RateLimitHook>(order);
}

}  // namespace treaty::machines
