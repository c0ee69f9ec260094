#include "treaty/config/default_agent.h"

#include <fmt/format.h>

#include "treaty/backends/providers/provider.h"
#include "treaty/config/demo.h"

namespace treaty::config {
namespace {

turns::Agent& new_agent(Draft& draft, std::string backend, std::string_view model) {
  turns::Agent& agent = draft.configuration.turns.agents["default"];
  agent.name = "default";
  agent.role.system = "You are a helpful assistant.";
  agent.chain = {{.backend = std::move(backend), .model = std::string(model)}};
  return agent;
}

void add_on_first_of_file(Draft& draft) {
  const std::string& name = draft.provider_order.front();
  const yaml::Node* place = draft.provider_nodes.at(name);
  const std::string_view model = default_model_of(draft.configuration.providers.at(name).kind);
  new_agent(draft, name, model);
  draft.references.push_back({.agent = "default", .entry = place, .provider = place});
  draft.configuration.notes.push_back(
      fmt::format("agent default: {} of {}, the first provider of the file", model, name));
}

// The first variable of the provider that is set.
std::string_view variable_of(const backends::Provider& provider, const Environment& environment) {
  for (const std::string_view variable : provider.key.environment_variables) {
    if (!environment(variable).value_or("").empty()) return variable;
  }
  return "";
}

bool add_on_first_of_environment(const Sources& sources, Draft& draft) {
  for (const backends::Provider& provider : backends::all_providers()) {
    const std::string_view model = default_model_of(provider.name);
    if (model.empty()) continue;
    HttpProvider found = provider_of_kind(sources, provider.name);
    if (found.key.empty()) continue;
    const std::string name(provider.name);
    draft.configuration.providers[name] = std::move(found);
    new_agent(draft, name, model);
    draft.configuration.notes.push_back(fmt::format("agent default: {} of {}, since {} is set",
                                                    model, name,
                                                    variable_of(provider, sources.environment)));
    return true;
  }
  return false;
}

void add_demo(Reader& reader, Draft& draft) {
  const auto root = yaml::read(demo_agent());
  if (root && root->find("agents") != nullptr) take_agents(reader, *root->find("agents"), draft);
  draft.agents = nullptr;  // It was in no file.
  draft.configuration.notes.emplace_back(
      "agent default: the built-in demo, since no key of a provider is set (OPENAI_API_KEY, "
      "ANTHROPIC_API_KEY…)");
}

}  // namespace

void add_default_agent(Reader& reader, Draft& draft) {
  if (!draft.provider_order.empty()) return add_on_first_of_file(draft);
  if (!add_on_first_of_environment(reader.sources(), draft)) add_demo(reader, draft);
}

}  // namespace treaty::config
