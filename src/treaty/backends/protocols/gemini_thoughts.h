// Gemini's thoughts are signatures on parts of an answer. As a thought each is an object with the
// signature and a mark that says which part it was on: the next call, an empty text, or so many
// bytes of text that end at its place. One on a part that can be read as a thought is that part.
#pragma once

#include <string>
#include <string_view>

#include "treaty/base/json.h"

namespace treaty::backends {

enum class GeminiPart { text, empty_text, call, thought };

std::string gemini_text_thought(json::Value signature, std::string_view text);
std::string gemini_call_thought(json::Value signature);
GeminiPart gemini_part_of(json::Value thought);

// How long the signed text is. Parts with a signature are not joined with parts without one.
constexpr std::string_view kSignedBytes = "signed_bytes";

// From the third generation on, a call in the history has to carry the signature of the thought
// behind it. This one stands for calls whose signature is not known.
constexpr std::string_view kNoSignature = "skip_thought_signature_validator";

}  // namespace treaty::backends
