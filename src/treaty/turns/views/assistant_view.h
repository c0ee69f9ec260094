// A journalled turn as an Assistant Response v1, for user interfaces that know nothing of turns.
// Pure.
#pragma once

#include <string>
#include <string_view>

#include "treaty/contracts/assistant_response.h"
#include "treaty/store/records.h"

namespace treaty::turns {

// By the composer's templates: completed is its default state, or a question back if the model said
// nothing; awaiting_tools is a question back, accepted deferred, and every other end a failure with
// a fixed phrase for its code. What a provider said never gets there. The trace_id is that of the
// request which began the turn; without one, that of `traceparent` (a header of W3C Trace Context,
// of the client that asks now); else a UUID that is the same for this turn of this room each time.
contracts::AssistantResponse assistant_view(const store::Room& room,
                                            const store::TurnRecord& record,
                                            std::string_view traceparent);

// The trace-id of a `traceparent`; empty when it is none.
std::string_view trace_id_of(std::string_view traceparent);

}  // namespace treaty::turns
