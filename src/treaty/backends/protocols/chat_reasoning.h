// Reasoning in Chat Completions, for which every provider has members of its own:
// `reasoning_content` (DeepSeek, Qwen, Kimi, llama.cpp), `reasoning` (Groq, Cerebras, Ollama,
// vLLM), `reasoning_details` beside it (OpenRouter), parts of the content (Mistral), a signature in
// the `extra_content` of a call (Gemini's compatible endpoint).
//
// A thought is one of {"reasoning_content": …}, {"reasoning": …}, {"reasoning_details": [one]},
// {"type": "thinking", "thinking": […]} and {"extra_content": {"google": …}}. The last two have a
// place, in the text and on the next call; the others stand before the text.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "treaty/backends/protocols/protocol.h"
#include "treaty/base/json.h"
#include "treaty/base/json_write.h"

namespace treaty::backends {

// What a message or a delta has of it. Where a text has two names, the first counts.
struct ChatReasoning {
  std::string_view name{};  // Of the text.
  std::optional<json::Value> text{};
  std::optional<json::Value> details{};

  void take(std::string_view member, json::Value value);
  bool is_empty() const { return !text && !details; }
};

void read_chat_reasoning(results::Answer& answer, json::Value message);
void read_reasoning_delta(StreamedAnswer& state, const ChatReasoning& reasoning);

void read_chat_content(results::Answer& answer, std::optional<json::Value> content);
void read_content_delta(StreamedAnswer& state, json::Value content);

// The thought on a call; nothing when it has none.
std::optional<std::string> thought_of_call(json::Value call);

// Adds the thought on the call of that place; of a call that comes in pieces, the first one counts.
void read_call_thought(StreamedAnswer& state, json::Value delta, std::size_t place);

// The member of a call that holds the thought on it.
void write_call_thought(json::Writer& writer, std::span<const results::Thought> thoughts,
                        std::size_t place);

// The members of an assistant's message that hold its thoughts. False when there are none.
bool write_chat_reasoning(json::Writer& writer, std::span<const results::Thought> thoughts);

// The same with their text in `reasoning_content`, whatever they came in. False when they have no
// text: then that member is missing.
bool write_reasoning_content(json::Writer& writer, std::span<const results::Thought> thoughts);

// The content of an assistant's message with the thoughts that are parts of it, as a list. False
// when there are none: then nothing is written.
bool write_content_with_thoughts(json::Writer& writer, const AssistantMessage& message,
                                 std::span<const results::Thought> thoughts);

// The thoughts of an assistant's message in a request.
std::vector<results::Thought> read_chat_thoughts(json::Value message);

// What a request says of reasoning_effort, reasoning and thinking.
void write_chat_effort(json::Writer& writer, const Call& call, const RequestStyle& style);
void read_chat_effort(Call& call, json::Value root);

}  // namespace treaty::backends
