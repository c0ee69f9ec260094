// The endpoints; routes.cpp says at which path and method each one is.
#pragma once

#include "treaty/api/request_context.h"

namespace treaty::api {

// execute.cpp
Conversation execute(RequestContext context);

// streams.cpp
Conversation follow_turn(RequestContext context);
Conversation follow_events(RequestContext context);

// sessions.cpp
Refusable<store::Session> find_session(const RequestContext& context);  // That the path names.
Reply open_session(const RequestContext& context);
Reply list_sessions(const RequestContext& context);
Reply show_session(const RequestContext& context);
Reply delete_session(const RequestContext& context);
Reply branch_session(const RequestContext& context);
Reply list_turns(const RequestContext& context);
Reply show_turn(const RequestContext& context);
Reply cancel_turn(const RequestContext& context);
Reply show_assistant(const RequestContext& context);
Reply show_agent_result(const RequestContext& context);

// documents.cpp
Reply respond_as_assistant(const RequestContext& context);
Reply check_document(const RequestContext& context);
Reply show_schema(const RequestContext& context);

// operations.cpp
Reply show_limits(const RequestContext& context);
Reply list_agents(const RequestContext& context);
Reply tell_health(const RequestContext& context);
Reply tell_readiness(const RequestContext& context);
Reply tell_version(const RequestContext& context);

}  // namespace treaty::api
