// What the names of models say about what they take. A name that says nothing, like that of a
// deployment, gives 0 or false; a caller decides what that means.
#pragma once

#include <string_view>

namespace treaty::backends {

// Versions are 100 * major + minor: 205 is 2.5.

int gemini_generation(std::string_view model);  // gemini-2.5-flash: 205.
int gpt_version(std::string_view model);        // gpt-5.4-mini: 504; an o-series or gpt-oss: 0.

struct Claude {
  int version = 0;  // claude-opus-4-5: 405; of a Claude without a number: 9999; no Claude: 0.
  bool is_opus = false;

  bool is_one() const { return version > 0; }
  bool takes_budget() const { return version >= 307 && version <= 406; }
  bool takes_adaptive() const { return version >= 406; }
  bool takes_effort() const { return version >= 406 || (version == 405 && is_opus); }
  bool takes_schema() const { return version >= 405 || (version >= 401 && is_opus); }
  bool continues_answers() const { return version < 406; }  // Of a message of the assistant.
};
Claude claude_of(std::string_view model);

// Whether it is one of OpenAI's models that reason, by whomever it is served.
bool is_openai_reasoner(std::string_view model);

// Whether it is one of OpenAI's models that do not.
bool is_openai_plain(std::string_view model);

// Whether Responses gives its reasoning encrypted: models of OpenAI and of xAI that reason.
bool encrypts_reasoning(std::string_view model);

// Without the vendor before a slash: `openai/gpt-5` is gpt-5.
std::string_view without_vendor(std::string_view model);

}  // namespace treaty::backends
