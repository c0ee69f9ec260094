// What the readers of all protocols share: tool calls that come in pieces, texts that come in
// parts, errors inside answers that began well.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "treaty/backends/protocols/protocol.h"
#include "treaty/base/json.h"

namespace treaty::backends {

// Providers send more than our own contracts allow: large, deep, repeated names.
json::ReadOptions wire_reading();

// Arguments as the text that they are, or the text of the object that a provider made of them.
std::string arguments_text(std::optional<json::Value> arguments);

contracts::AgentToolCall tool_call(std::string_view id, std::string_view name,
                                   std::optional<json::Value> arguments);

// Appends the text of a message's content: a string, or the `text` parts of a list.
void append_content(std::string& content, std::optional<json::Value> value);
void append_part(std::string& content, json::Value part);  // One part of such a list.

// The event's data as an object, read into the state's own document. Nothing, and a broken state,
// when it is none.
std::optional<json::Value> read_event(StreamedAnswer& state, std::string_view data);

// Appends to the call that was opened with that index; a piece of anything else is not for us.
void append_arguments(StreamedAnswer& state, std::optional<std::int64_t> index,
                      std::string_view text);

// What can be read of the thought that is open.
void append_thinking(StreamedAnswer& state, std::string_view text);

// The newest thought that was opened with that index; null when there is none.
StreamedAnswer::OpenThought* find_open_thought(StreamedAnswer& state, std::int64_t index);

// A new one, at the end of what the answer holds so far. Null when there are too many.
StreamedAnswer::OpenThought* open_thought(StreamedAnswer& state, std::int64_t index);

// Counts what was added to an open thought.
void count_thought(StreamedAnswer& state, std::size_t bytes);

// Writes the thoughts that came in pieces to their places.
void close_thoughts(StreamedAnswer& state);

// Calls in the order of their indices, as an unstreamed answer has them.
void put_in_order(StreamedAnswer& state);

// True for {"object": "error", "message"…} and {"message", "type" or "code"}: an error that vLLM,
// Mistral and Cerebras do not wrap.
bool is_bare_error(json::Value root);

// Remembers an error that an answer holds inside a status of success.
void note_error(results::Answer& answer, std::string_view body);

// The first model that is named stays.
void note_model(results::Answer& answer, std::string_view model);

// The call that an index, or else an id, of the wire means; a new one at its first piece. A piece
// with neither belongs to the last call. Nothing when there are too many calls.
contracts::AgentToolCall* open_tool_call(StreamedAnswer& state, std::optional<std::int64_t> index,
                                         std::string_view id, std::string_view name);

}  // namespace treaty::backends
