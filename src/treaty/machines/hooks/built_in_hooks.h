// The hooks that every machine can name: logging, metrics, webhook, command, rate-limit.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "treaty/machines/hooks/hook.h"

namespace treaty::http {
class Client;
}

namespace treaty::machines {

// Takes a line for people, without its end.
using HookLog = std::function<void(std::string_view)>;

struct BuiltInHooks {
  // For webhooks, on the event loop that the machines run on. One with a guard refuses addresses
  // that are not public (http::ClientOptions). Without a client, webhooks fail.
  std::shared_ptr<http::Client> client{};
  HookLog log{};  // May be none.
};

HookRegistry built_in_hooks(const BuiltInHooks& options);

// --- Each of them

// A program: one process for a machine's run, JSON lines both ways. Each event has an `id`, which
// the reply repeats. args: {command: [argv], timeout: 5}.
std::expected<std::shared_ptr<Hook>, std::string> make_command_hook(const HookOrder& order);

// A web server: each event is POSTed as JSON, the answer may be a reply. The log gets the failures
// that are ignored. args: {endpoint, api_key?, timeout: 5, required: false}.
std::expected<std::shared_ptr<Hook>, std::string> make_webhook(const HookOrder& order,
                                                               const BuiltInHooks& options);

// Where a state goes when its agent has met a limit, as the sample hooks of the AgentResult
// document have it. args: {minute?, hour?, day?, fatal?}, names of states.
std::expected<std::shared_ptr<Hook>, std::string> make_rate_limit_hook(const HookOrder& order);

// The reply to `event`: {} unless it is the state_exit of an agent that failed.
//
// An exhausted window of a day leads to `switch_provider`; of an hour, with context.wait_seconds,
// to `long_wait`; any other to `short_wait`. args.day, .hour, .minute are other names for these
// states; args.fatal is one for errors that no second try can mend. A state that is not there: {}.
HookReply rate_limit_policy(const HookEvent& event, const boost::json::object& arguments,
                            const std::function<bool(std::string_view)>& has_state);

// Logs each event.
std::shared_ptr<Hook> make_logging_hook(HookLog log);

// Logs how often each event came in each state, once nothing more can come.
std::shared_ptr<Hook> make_metrics_hook(HookLog log);

// "machine x1 state_enter draft": what happened, without what anybody said.
std::string line_about(const HookEvent& event);

}  // namespace treaty::machines
