#include <fmt/format.h>

#include "treaty/backends/providers/provider.h"
#include "treaty/base/files.h"
#include "treaty/config/sections/sections.h"

TREATY_ASSET(treaty_demo_script);
TREATY_ASSET(treaty_demo_agent);

namespace treaty::config {
namespace {

struct UsualBackend {
  dispatch::Choice choice{};
  const yaml::Node* place{};  // Where the file names it; null: nowhere.
  std::string note{};         // Which it is, and why.
};

UsualBackend first_of_file(const Draft& draft) {
  const std::string& name = draft.provider_order.front();
  const std::string_view model =
      default_model_of(draft.configuration.find_backend<HttpProvider>(name)->kind);
  return {.choice = {.backend = name, .model = std::string(model)},
          .place = draft.provider_nodes.at(name),
          .note = fmt::format("{} of {}, the first provider of the file", model, name)};
}

// The first variable of the provider that is set.
std::string_view variable_of(const backends::Provider& provider,
                             const backends::Environment& environment) {
  for (const std::string_view variable : provider.key.environment_variables) {
    if (!environment(variable).value_or("").empty()) return variable;
  }
  return "";
}

std::optional<UsualBackend> first_of_environment(const Sources& sources, Draft& draft) {
  for (const backends::Provider& provider : backends::all_providers()) {
    const std::string_view model = default_model_of(provider.name);
    if (model.empty()) continue;
    HttpProvider found = provider_of_kind(sources, provider.name);
    if (found.key.empty()) continue;
    const std::string name(provider.name);
    draft.configuration.backends[name] = std::move(found);
    return UsualBackend{.choice = {.backend = name, .model = std::string(model)},
                        .note = fmt::format("{} of {}, since {} is set", model, name,
                                            variable_of(provider, sources.environment))};
  }
  return std::nullopt;
}

UsualBackend demo(Draft& draft) {
  draft.configuration.backends[std::string(kDemoBackend)] =
      ScriptFile{.text = std::string(demo_script())};
  return {.choice = {.backend = std::string(kDemoBackend), .model = "scripted"},
          .note =
              "the built-in demo, since no key of a provider is set (OPENAI_API_KEY, "
              "ANTHROPIC_API_KEY…)"};
}

UsualBackend usual_backend(const Sources& sources, Draft& draft) {
  if (!draft.provider_order.empty()) return first_of_file(draft);
  if (auto found = first_of_environment(sources, draft)) return *std::move(found);
  return demo(draft);
}

// The demo has tools and a mode of its own to show; a model needs no more than a word.
void add_default_agent(ConfigReader& reader, Draft& draft, const UsualBackend& usual) {
  if (usual.choice.backend == kDemoBackend) {
    const auto root = yaml::read(demo_agent());
    if (root && root->find("agents") != nullptr) take_agents(reader, *root->find("agents"), draft);
    return;
  }
  turns::Agent& agent = draft.configuration.turns.agents["default"];
  agent.name = "default";
  agent.role.system = "You are a helpful assistant.";
  draft.agents_without_backends.push_back(agent.name);
}

}  // namespace

std::string_view demo_script() { return treaty_demo_script(); }
std::string_view demo_agent() { return treaty_demo_agent(); }

void settle_backends(ConfigReader& reader, Draft& draft) {
  auto& agents = draft.configuration.turns.agents;
  if (!agents.empty() && draft.agents_without_backends.empty()) return;
  const UsualBackend usual = usual_backend(reader.sources(), draft);
  if (agents.empty()) add_default_agent(reader, draft, usual);
  for (const std::string& name : draft.agents_without_backends) {
    agents.at(name).chain = {usual.choice};
    agents.at(name).chain.front().preference = 1;
    draft.configuration.notes.push_back(fmt::format("agent {}: {}", name, usual.note));
    if (usual.place == nullptr) continue;
    draft.references.push_back({.agent = name, .entry = usual.place, .provider = usual.place});
  }
}

}  // namespace treaty::config
