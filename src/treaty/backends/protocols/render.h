// Requests as each protocol writes them: the body, and the path below a provider's base URL. Pure.
//
// Whatever a Call holds, the body is valid JSON: schemas and arguments that cannot be embedded are
// replaced or wrapped, bytes that are not UTF-8 become U+FFFD.
#pragma once

#include <string>

#include "treaty/backends/call.h"
#include "treaty/backends/protocols/protocol.h"

namespace treaty::backends {

std::string render_chat_completions(const Call& call, const RequestStyle& style);
std::string render_completions(const Call& call, const RequestStyle& style);  // The legacy one.
std::string render_responses(const Call& call, const RequestStyle& style);
std::string render_anthropic_messages(const Call& call, const RequestStyle& style);
std::string render_gemini(const Call& call, const RequestStyle& style);
std::string render_ollama(const Call& call, const RequestStyle& style);

std::string path_of_chat_completions(const Call& call);
std::string path_of_completions(const Call& call);
std::string path_of_responses(const Call& call);
std::string path_of_anthropic_messages(const Call& call);
std::string path_of_gemini(const Call& call);  // Names the model and whether to stream.
std::string path_of_ollama(const Call& call);

}  // namespace treaty::backends
