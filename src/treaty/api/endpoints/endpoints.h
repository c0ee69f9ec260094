// Every endpoint, family by family; each family is a file.
#pragma once

#include "treaty/api/visit.h"

namespace treaty::api {

// execute.cpp
Conversation execute(Visit visit);

// streams.cpp
Conversation follow_turn(Visit visit);
Conversation follow_events(Visit visit);

// sessions.cpp
Reply open_session(const Visit& visit);
Reply list_sessions(const Visit& visit);
Reply show_session(const Visit& visit);
Reply delete_session(const Visit& visit);
Reply branch_session(const Visit& visit);

// turns.cpp
Reply list_turns(const Visit& visit);
Reply show_turn(const Visit& visit);
Reply cancel_turn(const Visit& visit);
Reply show_assistant(const Visit& visit);

// documents.cpp
Reply respond_as_assistant(const Visit& visit);
Reply check_document(const Visit& visit);
Reply show_schema(const Visit& visit);

// limits.cpp
Reply show_limits(const Visit& visit);

// operations.cpp
Reply list_agents(const Visit& visit);
Reply tell_health(const Visit& visit);
Reply tell_readiness(const Visit& visit);
Reply tell_version(const Visit& visit);

}  // namespace treaty::api
