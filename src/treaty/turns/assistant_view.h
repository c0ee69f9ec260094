// A journalled turn as an Assistant Response v1, for user interfaces that know nothing of turns.
// Pure.
#pragma once

#include <string>
#include <string_view>

#include "treaty/contracts/assistant_response.h"
#include "treaty/store/records.h"

namespace treaty::turns {

// By the composer's templates: completed is its default state, awaiting_tools a question back,
// accepted deferred, and every other end a failure with a fixed phrase for its code; what a
// provider said never gets there. `traceparent` is a header of W3C Trace Context; when it is none,
// the TurnId is the trace_id.
contracts::AssistantResponse assistant_view(const store::Turn& turn, std::string_view traceparent);

// The trace-id of a `traceparent`; empty when it is none.
std::string_view trace_id_of(std::string_view traceparent);

}  // namespace treaty::turns
