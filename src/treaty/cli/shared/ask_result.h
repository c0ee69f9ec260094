// The result of a client tool, typed by whoever sits there.
#pragma once

#include "treaty/cli/shared/conversation.h"
#include "treaty/cli/shared/line_input.h"

namespace treaty::cli {

// A line is the result, an empty one says that the tool failed. `/cancel` and an interrupt give the
// turn up; the end of the input leaves it waiting.
ToolReply ask_result(LineInput& input, const contracts::ToolCall& call);

}  // namespace treaty::cli
