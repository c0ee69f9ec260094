// Finds the backend of a model that a FlatAgent names.
#include <fmt/format.h>

#include <algorithm>

#include "treaty/app/machine_agents.h"
#include "treaty/backends/providers/endpoint.h"
#include "treaty/base/try.h"
#include "treaty/config/load.h"
#include "treaty/config/sections/sections.h"

namespace treaty::app {
namespace {

dispatch::Policy one_attempt() { return {.max_wait = 0, .max_attempts = 1, .breaker_failures = 0}; }

std::string names_of_providers() {
  std::vector<std::string_view> names;
  for (const backends::Provider& provider : backends::all_providers()) {
    names.push_back(provider.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

using MayBeAsked = std::expected<void, std::string>;

// Whether that provider and model can be told to reason as the profile wants.
MayBeAsked check_reasoning(const config::HttpProvider& settings, const std::string& model,
                           const backends::ModelProfile& profile, bool has_tools) {
  if (!profile.reasoning) return {};
  const std::string refusal = config::refusal_of(settings, model, *profile.reasoning, has_tools);
  if (refusal.empty()) return {};
  return std::unexpected(fmt::format("`reasoning` of the model: {}", refusal));
}

}  // namespace

bool ModelRoutes::is_configured(const std::string& backend) const {
  return services_.configuration->backends.contains(backend) &&
         services_.configuration->find_backend<config::MachineFile>(backend) == nullptr;
}

// Without machines: a profile that names nobody means a model, and not whoever asks.
std::vector<dispatch::Choice> ModelRoutes::usual_chain() const {
  const turns::Agent* agent = services_.configuration->turns.find_agent(turns::kDefaultAgent);
  std::vector<dispatch::Choice> chain;
  if (agent == nullptr) return chain;
  std::ranges::copy_if(
      agent->chain, std::back_inserter(chain), [&](const dispatch::Choice& choice) {
        return services_.configuration->find_backend<config::MachineFile>(choice.backend) ==
               nullptr;
      });
  return chain;
}

dispatch::Choice ModelRoutes::choice_of(const std::string& backend,
                                        const backends::ModelProfile& profile) const {
  const auto* settings = services_.configuration->find_backend<config::HttpProvider>(backend);
  return {.backend = backend,
          .model = profile.model,
          .max_output_tokens = profile.max_tokens,
          .temperature = profile.temperature,
          .policy = settings == nullptr ? one_attempt()
                                        : config::overridden(one_attempt(), settings->dispatch)};
}

std::expected<ModelRoute, std::string> ModelRoutes::find(const backends::ModelProfile& profile,
                                                         bool has_tools) {
  const std::vector<dispatch::Choice> usual = usual_chain();
  if (profile.base_url.empty() && is_configured(profile.provider)) {
    return configured(profile, {choice_of(profile.provider, profile)}, has_tools);
  }
  if (!profile.base_url.empty() || backends::find_provider(profile.provider) != nullptr) {
    if (profile.model.empty()) return std::unexpected("the profile has no `name` of a model");
    return route_to(profile.provider, profile, has_tools);
  }
  if (!profile.provider.empty()) {
    return std::unexpected(
        fmt::format("the provider {} is not known; add it to treaty.yaml under "
                    "`providers`, or name one of {}",
                    profile.provider, names_of_providers()));
  }
  if (usual.empty()) return std::unexpected("the profile has no `provider`");
  if (profile.model.empty() || usual.front().backend == config::kDemoBackend) {
    return configured(profile, usual, has_tools);
  }
  return configured(profile, {choice_of(usual.front().backend, profile)}, has_tools);
}

std::expected<ModelRoute, std::string> ModelRoutes::configured(
    const backends::ModelProfile& profile, std::vector<dispatch::Choice> chain,
    bool has_tools) const {
  for (const dispatch::Choice& choice : chain) {
    const auto* settings =
        services_.configuration->find_backend<config::HttpProvider>(choice.backend);
    if (settings == nullptr || choice.reasoning) continue;  // What the entry says takes precedence.
    TREATY_TRY_VOID(check_reasoning(*settings, choice.model, profile, has_tools));
  }
  return ModelRoute{services_.dispatcher, std::move(chain)};
}

// A provider that nobody has a key for, where there is nothing but the demo, is played by it.
std::expected<ModelRoute, std::string> ModelRoutes::route_to(const std::string& provider,
                                                             const backends::ModelProfile& profile,
                                                             bool has_tools) {
  const bool is_known = backends::find_provider(provider) != nullptr;
  const std::string kind = is_known ? provider : "custom";
  config::HttpProvider settings = config::provider_of_kind(config::process_sources({}), kind);
  if (const auto* own = services_.configuration->find_backend<config::HttpProvider>(provider)) {
    settings = *own;
  }
  const backends::Provider* known = backends::find_provider(settings.kind);
  if (!profile.base_url.empty()) {
    settings.base_url =
        backends::base_url_of(*known, profile.base_url, backends::process_environment);
  }
  if (settings.base_url.empty()) {
    return std::unexpected(
        fmt::format("the provider {} has no address of its own; give the "
                    "profile a base_url",
                    provider));
  }
  const bool lacks_key = known->key.required && settings.key.empty();
  const std::vector<dispatch::Choice> usual = usual_chain();
  if (lacks_key && profile.base_url.empty() && !usual.empty() &&
      usual.front().backend == config::kDemoBackend) {
    return ModelRoute{services_.dispatcher, usual};
  }
  TREATY_TRY_VOID(check_reasoning(settings, profile.model, profile, has_tools));
  const std::string name = provider.empty() ? kind : provider;
  auto& dispatcher = more_[fmt::format("{} {}", name, settings.base_url)];
  if (!dispatcher) {
    config::Configuration alone;
    alone.backends[name] = settings;
    dispatcher = make_backends(services_.context, alone, services_.shared).dispatcher;
  }
  return ModelRoute{dispatcher, {choice_of(name, profile)}};
}

}  // namespace treaty::app
