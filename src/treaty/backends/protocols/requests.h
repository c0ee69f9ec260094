// Requests as each protocol writes and reads them: the body, and the path below a base URL. Pure.
//
// Whatever a Call holds, the rendered body is valid JSON: schemas and arguments that cannot be
// embedded are replaced or wrapped, bytes that are not UTF-8 become U+FFFD. Rendering a request
// that was read from a rendered one gives the same bytes.
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

std::string path_of_gemini(const Call& call);  // Names the model and whether to stream.

// Each fills in what stands in the body beside the model, and returns what a provider would say
// about a request that it refuses; empty: nothing is wrong.
std::string read_chat_completions(ReceivedRequest& request, json::Value root);
std::string read_completions(ReceivedRequest& request, json::Value root);
std::string read_responses(ReceivedRequest& request, json::Value root);
std::string read_anthropic_messages(ReceivedRequest& request, json::Value root);
std::string read_gemini(ReceivedRequest& request, json::Value root);
std::string read_ollama(ReceivedRequest& request, json::Value root);

}  // namespace treaty::backends
