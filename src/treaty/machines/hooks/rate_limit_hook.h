// The built-in policy `rate-limit`: where a state goes when its agent has met a limit, as the
// sample hooks of the AgentResult document have it.
#pragma once

#include "treaty/machines/hooks/hook.h"

namespace treaty::machines {

// The reply to `event`: {} unless it is the state_exit of an agent that failed.
//
// An exhausted window of a day leads to `switch_provider`; of an hour, with context.wait_seconds,
// to `long_wait`; any other to `short_wait`. args.day, .hour, .minute are other names for these
// states; args.fatal is one for errors that no second try can mend. A state that is not there: {}.
HookReply rate_limit_policy(const HookEvent& event, const boost::json::object& arguments,
                            const std::function<bool(std::string_view)>& has_state);

// args: {minute?, hour?, day?, fatal?}, names of states.
std::expected<std::shared_ptr<Hook>, std::string> make_rate_limit_hook(const HookOrder& order);

}  // namespace treaty::machines
