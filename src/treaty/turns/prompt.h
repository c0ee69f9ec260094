// From a request to what a model is told: system text, history, artifacts, images, hints,
// instruction. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/backends/call.h"
#include "treaty/contracts/agent_execute_request.h"
#include "treaty/turns/settings.h"

namespace treaty::turns {

// The role's own text and the latched solution context, in a block of its own.
std::string system_text(const AgentRole& role, std::string_view solution_context);

struct UserPrompt {
  backends::UserMessage message{};
  std::vector<std::string> warnings{};  // For the user: what the model does not get.
};

// Artifacts (base64 decoded; each in a tagged block whose delimiter no text of the message has),
// images, workspace hints, instruction, in this order. An artifact that is no text is described,
// not shown, with a warning; one that is a picture is shown as such. An instruction alone is the
// whole text. A RagScope gives a warning.
UserPrompt user_prompt(const contracts::UserTurn& turn);
backends::UserMessage user_message(const contracts::UserTurn& turn);

// A result as the model sees it: the text of ResultJson or of the failure.
backends::ToolMessage tool_message(const contracts::ToolResult& result, std::string_view tool_name);

std::vector<backends::Tool> declarations_of(const AgentRole& role);

// About how many tokens: bytes / 4, images at a flat rate.
std::size_t estimated_tokens(const std::vector<backends::Message>& messages);

// --- Tagged blocks around what others wrote. No text inside can end its block, begin another one
// or break out of a head.

// `<word-number …>`. The number is one that no text around has after the word.
struct Tag {
  std::string_view word;
  std::uint32_t number = 1;
};

struct Attribute {
  std::string_view name;
  std::string_view value;  // Written so that it stays inside its quotes, on its line.
};

// The smallest number from 1 on that follows none of `words` and a hyphen in any of `texts`, not
// even as the beginning of a longer number. The same for the same texts.
std::uint32_t free_number(std::span<const std::string_view> words,
                          std::span<const std::string_view> texts);

// A head, the contents on lines of their own, and an end; nothing is added to the contents but the
// line break before the end.
void append_block(std::string& out, const Tag& tag, std::span<const Attribute> attributes,
                  std::string_view contents);

// A head that ends itself: something is there, but not shown.
void append_mark(std::string& out, const Tag& tag, std::span<const Attribute> attributes);

}  // namespace treaty::turns
