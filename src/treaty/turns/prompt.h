// From a request to what a model is told: system text, history, artifacts, images, hints,
// instruction. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/backends/call.h"
#include "treaty/contracts/agent_execute_request.h"
#include "treaty/turns/settings.h"

namespace treaty::turns {

// The role's own text and the latched solution context, in a block of its own.
std::string system_text(const AgentRole& role, std::string_view solution_context);

// Artifacts (base64 decoded; each in a tagged block whose delimiter no text of the message has),
// images, workspace hints, instruction, in this order. An artifact that is no text is described,
// not shown; one that is a picture is shown as such. An instruction alone is the whole text.
backends::UserMessage user_message(const contracts::UserTurn& turn);

// A result as the model sees it: the text of ResultJson or of the failure.
backends::ToolMessage tool_message(const contracts::ToolResult& result, std::string_view tool_name);

std::vector<backends::Tool> declarations_of(const AgentRole& role);

// About how many tokens: bytes / 4, images at a flat rate.
std::size_t estimated_tokens(const std::vector<backends::Message>& messages);

}  // namespace treaty::turns
