// Gemini's thoughts are signatures on parts of an answer. As a thought each is an object with the
// signature and a mark that says which part it was on: the next call, an empty text, or the text
// that ends at its place.
#pragma once

#include <string>
#include <string_view>

#include "treaty/base/json.h"

namespace treaty::backends {

enum class GeminiPart { text, empty_text, call };

std::string gemini_thought(json::Value signature, GeminiPart part);
GeminiPart gemini_part_of(json::Value thought);

// From the third generation on, a call in the history has to carry the signature of the thought
// behind it. This one stands for calls whose signature is not known.
constexpr std::string_view kNoSignature = "skip_thought_signature_validator";

}  // namespace treaty::backends
