// What the names of models say about what they take. A name that says nothing, like that of a
// deployment, gives 0 or false; a caller decides what that means.
#pragma once

#include <cstdint>
#include <string_view>

namespace treaty::backends {

// Versions are 100 * major + minor: 205 is 2.5.

int gemini_generation(std::string_view model);  // gemini-2.5-flash: 205.
int gpt_version(std::string_view model);        // gpt-5.4-mini: 504; an o-series or gpt-oss: 0.

constexpr std::int64_t kLeastBudget = 1'024;  // Of tokens that a Claude thinks.

struct Claude {
  int version = 0;  // claude-opus-4-5: 405; of a Claude without a number: 9999; no Claude: 0.
  bool is_opus = false;

  bool is_one() const { return version > 0; }
  bool takes_budget() const { return version >= 307 && version <= 406; }
  bool takes_adaptive() const { return version >= 406; }
  bool thinks_by_default() const { return version >= 500; }
  bool takes_effort() const { return version >= 406 || (version == 405 && is_opus); }
  bool takes_schema() const { return version >= 405 || (version >= 401 && is_opus); }
  bool continues_answers() const { return version < 406; }  // Of a message of the assistant.
  bool takes_sampling() const { return version < 407; }     // temperature, top_p, top_k.
  bool binds_thoughts() const;                              // To the prompt that they answer.
  std::int64_t most_output_tokens() const;                  // Thinking included; 0: unknown.
};
Claude claude_of(std::string_view model);

// Whether it is one of OpenAI's models that reason, by whomever it is served.
bool is_openai_reasoner(std::string_view model);

// Whether it is one of OpenAI's models that do not.
bool is_openai_plain(std::string_view model);

// Whether OpenAI serves it: one of its models, but for those that everybody can run.
bool is_served_by_openai(std::string_view model);

// Whether it is a model that reasons and that refuses any temperature but its own.
bool has_fixed_sampling(std::string_view model);

// Whether Responses gives its reasoning encrypted: models of OpenAI and of xAI that reason.
bool encrypts_reasoning(std::string_view model);

// Whether it is one of Meta's models, which do not reason; what others taught to is not.
bool is_llama(std::string_view model);

bool is_deepseek(std::string_view model);

// How Groq is held to a schema by this model: not at all, as well as it can, or strictly.
enum class GroqSchema { none, best_effort, strict };
GroqSchema groq_schema_of(std::string_view model);

// Whether the name is one of Gemini's, with a generation or without: `gemini-flash-latest`.
bool is_gemini(std::string_view model);

// Without the vendor before a slash: `openai/gpt-5` is gpt-5.
std::string_view without_vendor(std::string_view model);

}  // namespace treaty::backends
