// What providers and their models take of settings for reasoning. What is not known is not refused:
// names of models are anybody's, and new ones appear every week.
#include <fmt/format.h>

#include "treaty/backends/protocols/models.h"
#include "treaty/backends/protocols/request_parts.h"
#include "treaty/backends/providers/provider.h"

namespace treaty::backends {
namespace {

// A question about one model.
struct Question {
  std::string_view model;
  Reasoning reasoning;
  bool has_tools;

  std::optional<Effort> effort() const { return reasoning.effort; }
  bool is(Effort effort) const { return reasoning.effort == effort; }
};

std::string no_budget(std::string_view who) {
  return fmt::format("{} takes no budget_tokens; use effort", who);
}

std::string no_effort(std::string_view who) {
  return fmt::format("{} takes no effort; use budget_tokens", who);
}

std::string no_reasoning(std::string_view model) {
  return fmt::format("the model {} does not reason; leave reasoning out", model);
}

std::string no_such_effort(std::string_view who, Effort effort, std::string_view instead) {
  return fmt::format("{} knows no effort {}; use {}", who, name_of(effort), instead);
}

std::string refusal_of_claude(const Question& asked) {
  const auto& [effort, budget] = asked.reasoning;
  const Claude claude = claude_of(asked.model);
  if (budget && *budget < kLeastBudget) {
    return fmt::format("Anthropic takes budget_tokens of {} or more", kLeastBudget);
  }
  if (asked.is(Effort::minimal)) return no_such_effort("Anthropic", Effort::minimal, "low");
  if (!claude.is_one()) return {};
  if (!claude.takes_budget() && !claude.takes_effort()) return no_reasoning(asked.model);
  if (budget && !claude.takes_budget()) return no_budget(asked.model);
  if (effort && !claude.takes_effort()) return no_effort(asked.model);
  const std::int64_t limit = claude.most_output_tokens();
  if (budget && limit > 0 && *budget >= limit) {
    return fmt::format(
        "{} writes at most {} tokens, thinking included; use budget_tokens below that", asked.model,
        limit);
  }
  return {};
}

std::string refusal_of_gemini(const Question& asked) {
  const auto& [effort, budget] = asked.reasoning;
  const int generation = gemini_generation(asked.model);
  if (effort && budget) return "Gemini takes either effort or budget_tokens, not both";
  if (generation == 0) return {};
  if (generation < 205) return no_reasoning(asked.model);
  if (generation < 300) return effort ? no_effort(asked.model) : "";
  if (budget) return no_budget(asked.model);
  const bool is_pro = asked.model.contains("pro");
  if (is_pro && asked.is(Effort::minimal)) {
    return no_such_effort(asked.model, Effort::minimal, "low");
  }
  if (is_pro && generation == 300 && asked.is(Effort::medium)) {
    return no_such_effort(asked.model, Effort::medium, "low or high");
  }
  return {};
}

// OpenAI's models, by whomever they are served. Deployments may have any name.
std::string refusal_of_openai(const Question& asked, const Protocol& protocol) {
  if (is_openai_plain(asked.model)) return no_reasoning(asked.model);
  if (!is_openai_reasoner(asked.model)) return {};
  const std::string_view name = without_vendor(asked.model);
  const bool knows_minimal = gpt_version(name) == 500 && !name.contains("codex");
  if (asked.is(Effort::minimal) && !knows_minimal) {
    return no_such_effort(asked.model, Effort::minimal, "low");
  }
  if (asked.has_tools && &protocol == &chat_completions() && gpt_version(name) >= 504) {
    return fmt::format(
        "{} takes no effort together with tools over chat_completions; use the "
        "protocol responses",
        asked.model);
  }
  return {};
}

// Most models of xAI reason as they like and refuse to be told how much.
std::string refusal_of_grok(const Question& asked) {
  const std::string_view name = without_vendor(asked.model);
  if (asked.is(Effort::minimal)) return no_such_effort("xAI", Effort::minimal, "low");
  if (name.starts_with("grok-3-mini")) {
    return asked.is(Effort::medium) ? no_such_effort(asked.model, Effort::medium, "low or high")
                                    : "";
  }
  const bool is_agents = name.starts_with("grok-4.20-multi-agent");
  for (const std::string_view fixed :
       {"grok-2", "grok-3", "grok-4-", "grok-4.1", "grok-4.20", "grok-code-fast-1"}) {
    if (!is_agents && (name.starts_with(fixed) || name == "grok-4")) {
      return fmt::format("{} decides by itself how much it reasons; leave reasoning out",
                         asked.model);
    }
  }
  return {};
}

std::string refusal_of_mistral(const Question& asked) {
  if (asked.model.starts_with("magistral")) {
    return fmt::format("{} decides by itself how much it reasons; leave reasoning out",
                       asked.model);
  }
  if (asked.is(Effort::minimal)) return no_such_effort("Mistral", Effort::minimal, "high");
  const bool has_one =
      asked.model.starts_with("mistral-small") || asked.model.starts_with("mistral-medium");
  if (has_one && asked.effort() && !asked.is(Effort::high)) {
    return no_such_effort(asked.model, *asked.effort(), "high");
  }
  return {};
}

std::string refusal_of_groq(const Question& asked) {
  if (asked.is(Effort::minimal)) return no_such_effort("Groq", Effort::minimal, "low");
  if (is_llama(asked.model)) return no_reasoning(asked.model);
  if (asked.model == "qwen/qwen3-32b") {
    return fmt::format("{} decides by itself how much it reasons; leave reasoning out",
                       asked.model);
  }
  return {};
}

// Those that have the efforts of OpenAI but the least. DeepSeek reads it as low.
bool has_no_minimal(std::string_view provider) {
  return provider == "cerebras" || provider == "together" || provider == "ollama";
}

bool serves_llama(std::string_view provider) {
  return provider == "cerebras" || provider == "together" || provider == "huggingface";
}

// Of a provider's own models and words. All of them take no budget here.
std::string refusal_by_provider(std::string_view provider, const Question& asked,
                                const Protocol& protocol) {
  if (provider == "openai" || provider == "azure") return refusal_of_openai(asked, protocol);
  if (provider == "xai") return refusal_of_grok(asked);
  if (provider == "mistral") return refusal_of_mistral(asked);
  if (provider == "groq") return refusal_of_groq(asked);
  if (serves_llama(provider) && is_llama(asked.model)) return no_reasoning(asked.model);
  if (has_no_minimal(provider) && asked.is(Effort::minimal)) {
    return no_such_effort(provider, Effort::minimal, "low");
  }
  return {};
}

}  // namespace

std::string refusal_of(const Provider& provider, const Protocol& protocol, std::string_view model,
                       const Reasoning& reasoning, bool has_tools) {
  const Question asked{model, reasoning, has_tools};
  if (!reasoning.effort && !reasoning.budget_tokens) return {};
  if (reasoning.budget_tokens && *reasoning.budget_tokens < 0) {
    return "budget_tokens has to be 0 or more";
  }
  if (&protocol == &completions()) return "the protocol completions has no reasoning";
  if (&protocol == &anthropic_messages()) return refusal_of_claude(asked);
  if (&protocol == &gemini()) return refusal_of_gemini(asked);
  const bool is_object =
      &protocol == &chat_completions() && provider.style.reasoning == ReasoningStyle::object;
  if (reasoning.budget_tokens && !is_object) return no_budget(provider.name);
  if (reasoning.budget_tokens && reasoning.effort) {
    return fmt::format("{} takes either effort or budget_tokens, not both", provider.name);
  }
  return refusal_by_provider(provider.name, asked, protocol);
}

bool takes_thoughts(const Provider& provider, const Protocol& protocol) {
  if (&protocol == &completions()) return false;
  return &protocol != &chat_completions() || provider.style.takes_chat_thoughts;
}

bool wants_earlier_thoughts(const Provider& provider, const Protocol& protocol,
                            std::string_view model) {
  constexpr int kFirstOfAllTurns = 506;  // gpt-5.6 reads them by itself.
  if (&protocol == &responses() && gpt_version(model) >= kFirstOfAllTurns) return true;
  return provider.style.thoughts_of_earlier_turns || &protocol == &anthropic_messages() ||
         &protocol == &gemini();
}

Prefill prefill_of(const Provider& provider, const Protocol& protocol, const Call& call) {
  if (&protocol == &responses() || &protocol == &completions()) return Prefill::none;
  if (&protocol == &anthropic_messages()) {
    const bool continues = claude_of(call.model).continues_answers() && !call.reasoning;
    return continues ? provider.style.prefill : Prefill::none;
  }
  return provider.style.prefill;
}

}  // namespace treaty::backends
