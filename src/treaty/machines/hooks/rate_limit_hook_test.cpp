#include <doctest/doctest.h>

#include <boost/json/array.hpp>

#include "treaty/machines/hooks/built_in_hooks.h"

namespace treaty::machines {
namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;

const std::function<bool(std::string_view)> kAnyState{};

HookEvent exit_with(value output) {
  return {{"event", "state_exit"},
          {"execution_id", "x1"},
          {"state", "ask"},
          {"context", object{}},
          {"output", std::move(output)}};
}

object limited(const array& windows, const object& more = {}) {
  object rate_limit = {{"limited", true}, {"windows", windows}};
  for (const auto& [name, member] : more) rate_limit[name] = member;
  return {{"error", object{{"code", "rate_limit"}, {"retryable", true}}},
          {"rate_limit", rate_limit}};
}

object window(std::string_view name, std::int64_t remaining, const object& more = {}) {
  object made = {{"name", name}, {"remaining", remaining}};
  for (const auto& [key, member] : more) made[key] = member;
  return made;
}

value policy(const object& output, const object& arguments = {},
             const std::function<bool(std::string_view)>& has_state = kAnyState) {
  return rate_limit_policy(exit_with(output), arguments, has_state);
}

value waits(std::string_view state, const value& seconds) {
  return {{"context", {{"wait_seconds", seconds}}}, {"to_state", state}};
}

TEST_CASE("An exhausted window of a day asks for another provider, without a wait") {
  CHECK(policy(limited({window("tokens_per_day", 0, {{"resets_in", 40000}})})) ==
        value{{"to_state", "switch_provider"}});
}

TEST_CASE("An exhausted window of an hour waits until it resets, or an hour") {
  CHECK(policy(limited({window("tokens_per_hour", 0, {{"resets_in", 1800}})},
                       {{"retry_after", 9}})) == waits("long_wait", 1800));
  CHECK(policy(limited({window("tokens_per_hour", 0)})) == waits("long_wait", 3600));
}

TEST_CASE("Any other exhausted window waits as long as the provider asks, or a minute") {
  CHECK(policy(limited({window("requests_per_minute", 0, {{"resets_in", 45}})},
                       {{"retry_after", 7.5}})) == waits("short_wait", 7.5));
  CHECK(policy(limited({window("requests", 0)})) == waits("short_wait", 60));
  CHECK(policy(limited({object{{"remaining", 0}}})) == waits("short_wait", 60));
}

TEST_CASE("The first exhausted window decides, whatever the later ones say") {
  CHECK(policy(limited({window("requests_per_minute", 3), window("tokens_per_hour", 0),
                        window("tokens_per_day", 0)})) == waits("long_wait", 3600));
}

TEST_CASE("Without an exhausted window the error stands") {
  CHECK(policy(limited({})) == value(object{}));
  CHECK(policy(limited({window("requests", 1), object{{"name", "day"}}, "junk"})) ==
        value(object{}));
  CHECK(policy({{"error", {{"code", "rate_limit"}}}}) == value(object{}));
  CHECK(policy({{"error", {{"code", "rate_limit"}}},
                {"rate_limit",
                 {{"limited", false}, {"windows", array{window("requests_per_day", 0)}}}}}) ==
        value(object{}));
}

TEST_CASE("A rate limit that no second try can mend is a rate limit all the same") {
  object billing = limited({window("requests_per_day", 0)});
  billing["error"] = object{{"code", "rate_limit"}, {"retryable", false}};

  CHECK(policy(billing, {{"fatal", "stop"}}) == value{{"to_state", "switch_provider"}});
}

TEST_CASE("Another error goes to args.fatal unless a second try may mend it") {
  const object refused = {{"error", {{"code", "auth_error"}, {"retryable", false}}}};
  const object silent = {{"error", {{"code", "auth_error"}}}};
  const object busy = {{"error", {{"code", "server_error"}, {"retryable", true}}}};

  CHECK(policy(refused, {{"fatal", "stop"}}) == value{{"to_state", "stop"}});
  CHECK(policy(silent, {{"fatal", "stop"}}) == value{{"to_state", "stop"}});
  CHECK(policy(busy, {{"fatal", "stop"}}) == value(object{}));
  CHECK(policy(refused) == value(object{}));
}

TEST_CASE("The states have other names when the arguments say so") {
  const object names = {{"minute", "nap"}, {"hour", "sleep"}, {"day", "leave"}};

  CHECK(policy(limited({window("per_minute", 0)}), names) == waits("nap", 60));
  CHECK(policy(limited({window("per_hour", 0)}), names) == waits("sleep", 3600));
  CHECK(policy(limited({window("per_day", 0)}), names) == value{{"to_state", "leave"}});
}

TEST_CASE("A state that the machine does not have changes nothing, the context neither") {
  const auto only_short = [](std::string_view state) { return state == "short_wait"; };

  CHECK(policy(limited({window("per_hour", 0)}), {}, only_short) == value(object{}));
  CHECK(policy(limited({window("per_day", 0)}), {}, only_short) == value(object{}));
  CHECK(policy(limited({window("per_minute", 0)}), {}, only_short) == waits("short_wait", 60));
}

TEST_CASE("Successes, outputs of other kinds and other events are left alone") {
  CHECK(policy({{"content", "fine"}}) == value(object{}));
  CHECK(rate_limit_policy(exit_with(nullptr), {}, kAnyState).empty());
  CHECK(rate_limit_policy(exit_with("text"), {}, kAnyState).empty());
  HookEvent enter = exit_with(limited({window("per_day", 0)}));
  enter["event"] = "state_enter";
  CHECK(rate_limit_policy(enter, {}, kAnyState).empty());
}

TEST_CASE("Arguments of the policy are names of states") {
  const std::string directory = ".";
  const auto fault_of = [&directory](const object& arguments) {
    const auto made = make_rate_limit_hook({.arguments = arguments, .directory = directory});
    return made ? std::string() : made.error();
  };

  CHECK(fault_of({}).empty());
  CHECK(fault_of({{"hour", "sleep"}, {"fatal", "stop"}}).empty());
  CHECK(fault_of({{"hour", 3600}}).contains("args.hour is not a text"));
  CHECK(fault_of({{"hours", "sleep"}}).contains("did you mean hour?"));
}

}  // namespace
}  // namespace treaty::machines
