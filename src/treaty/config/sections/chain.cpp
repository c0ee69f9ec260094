#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <variant>

#include "treaty/backends/scripted/script.h"
#include "treaty/config/sections/sections.h"
#include "treaty/config/units.h"

namespace treaty::config {
namespace {

using dispatch::Choice;
using turns::Agent;
using yaml::Node;

// One entry of the chain while it is read.
struct ChoiceDraft {
  dispatch::Choice choice{};
  const Node* provider{};
  const Node* script{};
  const Node* scripted{};
  const Node* bridge{};
  const Node* machine{};
  const Node* reasoning{};
  const Node* cache{};
  bool has_model = false;
  PolicyOverrides policy{};
};

constexpr auto kBridgeMembers = std::to_array<ConfigMember<BridgeDirectory>>({
    {"dir",
     [](ConfigReader& reader, const Node& node, BridgeDirectory& bridge) {
       if (const auto path = reader.phrase(node)) bridge.path = reader.path_of(*path);
     }},
    {"agent_name", yaml::take_phrase<&BridgeDirectory::agent_name>},
    {"timeout", take_duration<24, &BridgeDirectory::timeout>},
});

// The codes that a failure of a backend can have.
constexpr std::array<std::string_view, 8> kFailures = {
    "context_length", "content_filter", "model_unavailable", "auth_error",
    "rate_limit",     "timeout",        "server_error",      "invalid_request"};

void take_failure(ConfigReader& reader, const Node& node, ChoiceDraft& draft) {
  const auto index = reader.word(node, kFailures);
  if (!index) return;
  auto& on = draft.choice.on;
  if (std::ranges::count(on, kFailures[*index]) > 0) {
    return reader.note(node, fmt::format("{} is there twice", kFailures[*index]));
  }
  on.emplace_back(kFailures[*index]);
}

// One word is a list of one.
void take_on(ConfigReader& reader, const Node& node, ChoiceDraft& draft) {
  if (node.is_scalar() && node.kind != yaml::Kind::null) return take_failure(reader, node, draft);
  if (!reader.is_list(node, "failures")) return;
  if (node.kind == yaml::Kind::list && node.items.empty()) {
    reader.note(node, "no failure leads to this backend", "leave `on` out for the usual ones");
  }
  for (const Node& item : node.items) take_failure(reader, item, draft);
}

constexpr auto kReasoningMembers = std::to_array<ConfigMember<backends::Reasoning>>({
    {"effort",
     [](ConfigReader& reader, const Node& node, backends::Reasoning& reasoning) {
       const auto index = reader.word(node, backends::kEffortNames);
       if (index) reasoning.effort = static_cast<backends::Effort>(*index);
     }},
    {"budget_tokens", yaml::take_integer<1, 10'000'000, &backends::Reasoning::budget_tokens>},
});

void take_reasoning(ConfigReader& reader, const Node& node, ChoiceDraft& draft) {
  draft.reasoning = &node;
  backends::Reasoning& reasoning = draft.choice.reasoning.emplace();
  reader.members<backends::Reasoning>(node, "reasoning", kReasoningMembers, reasoning);
  const bool is_map = node.kind == yaml::Kind::map || node.kind == yaml::Kind::null;
  if (is_map && node.members.empty()) {
    reader.note(node, "reasoning needs `effort` or `budget_tokens`", "such as {effort: low}");
  }
}

void take_cache(ConfigReader& reader, const Node& node, ChoiceDraft& draft) {
  constexpr std::array<std::string_view, 2> kWords = {"off", "on"};
  draft.cache = &node;
  if (const auto index = reader.word(node, kWords)) draft.choice.caches = *index == 1;
}

template <auto Part>
void take_tokens(ConfigReader& reader, const Node& node, ChoiceDraft& draft) {
  yaml::take_integer<1, 100'000'000, Part>(reader, node, draft.choice);
}

constexpr auto kChoiceMembers = std::to_array<ConfigMember<ChoiceDraft>>({
    {"provider", take_place<&ChoiceDraft::provider>},
    {"script", take_place<&ChoiceDraft::script>},
    {"scripted", take_place<&ChoiceDraft::scripted>},
    {"bridge", take_place<&ChoiceDraft::bridge>},
    {"machine", take_place<&ChoiceDraft::machine>},
    {"model",
     [](ConfigReader& reader, const Node& node, ChoiceDraft& draft) {
       draft.choice.model = reader.phrase(node).value_or("");
       draft.has_model = true;
     }},
    {"context_window", take_tokens<&Choice::context_window>},
    {"max_output_tokens", take_tokens<&Choice::max_output_tokens>},
    {"temperature",
     [](ConfigReader& reader, const Node& node, ChoiceDraft& draft) {
       draft.choice.temperature = reader.decimal(node, 0, 2);
     }},
    {"reasoning", take_reasoning},
    {"cache", take_cache},
    {"preference", yaml::take_integer<1, 1'000, &ChoiceDraft::choice, &Choice::preference>},
    {"weight", yaml::take_integer<1, 1'000, &ChoiceDraft::choice, &Choice::weight>},
    {"on", take_on},
    {"dispatch", [](ConfigReader& reader, const Node& node,
                    ChoiceDraft& draft) { take_policy(reader, node, draft.policy); }},
});

void take_script(ConfigReader& reader, const Node& node, ChoiceDraft& entry, Draft& draft) {
  auto file = reader.file(node);
  if (!file) return;
  entry.choice.backend = backend_name("script", file->path, draft.configuration);
  if (const auto script = backends::read_script(file->text); !script) {
    const auto& first = script.error().front();
    reader.note(node, fmt::format("the script {} is not in order: {}", node.text, text_of(first)),
                "`treaty mock --check --script FILE` tells all of it");
  }
  draft.configuration.backends[entry.choice.backend] =
      ScriptFile{.path = std::move(file->path), .text = std::move(file->text)};
}

void take_scripted(ConfigReader& reader, const Node& node, ChoiceDraft& entry, Draft& draft) {
  constexpr std::array<std::string_view, 1> kBuiltIn = {"demo"};
  if (!reader.word(node, kBuiltIn)) return;
  entry.choice.backend = kDemoBackend;
  draft.configuration.backends[entry.choice.backend] =
      ScriptFile{.text = std::string(demo_script())};
}

// Whoever answers is asked for the agent of this name, unless the file says another.
void take_bridge(ConfigReader& reader, const Node& node, ChoiceDraft& entry, const Agent& agent,
                 Draft& draft) {
  BridgeDirectory bridge{.agent_name = agent.name};
  reader.members<BridgeDirectory>(node, "a bridge", kBridgeMembers, bridge);
  if (node.find("dir") == nullptr &&
      (node.kind == yaml::Kind::map || node.kind == yaml::Kind::null)) {
    reader.note(node, "a bridge needs `dir`, the directory in which it asks",
                "such as {bridge: {dir: /var/lib/agents/reviewer}}");
  }
  entry.choice.backend =
      backend_name("bridge", bridge.path, draft.configuration,
                   fmt::format(" ({}, {})", bridge.agent_name, duration_text(bridge.timeout)));
  draft.configuration.backends[entry.choice.backend] = std::move(bridge);
}

// The order of the list is the preference of those that name none.
int position_after(const std::vector<dispatch::Choice>& chain) {
  return static_cast<int>(chain.size()) + 1;
}

void take_backend(ConfigReader& reader, const Node& node, Agent& agent, Draft& draft) {
  ChoiceDraft entry;
  reader.members<ChoiceDraft>(node, "a backend", kChoiceMembers, entry);
  const std::array<const Node*, 5> named = {entry.provider, entry.script, entry.scripted,
                                            entry.bridge, entry.machine};
  const bool is_map = node.kind == yaml::Kind::map || node.kind == yaml::Kind::null;
  if (std::ranges::count(named, nullptr) != named.size() - 1 && is_map) {
    reader.note(
        node,
        "a backend has exactly one of `provider`, `script`, `scripted`, `bridge` and `machine`",
        "such as {provider: main, model: gpt-5-mini} or {scripted: demo}");
  }
  if (entry.provider != nullptr) {
    const auto name = reader.phrase(*entry.provider);
    if (!name) return;
    entry.choice.backend = *name;
    draft.references.push_back({.agent = agent.name,
                                .index = agent.chain.size(),
                                .entry = &node,
                                .provider = entry.provider,
                                .reasoning = entry.reasoning,
                                .has_model = entry.has_model});
  } else if (entry.script != nullptr) {
    take_script(reader, *entry.script, entry, draft);
  } else if (entry.scripted != nullptr) {
    take_scripted(reader, *entry.scripted, entry, draft);
  } else if (entry.bridge != nullptr) {
    take_bridge(reader, *entry.bridge, entry, agent, draft);
  } else if (entry.machine != nullptr) {
    if (entry.has_model) reader.note(node, "a machine has no `model`: its agents have");
    entry.choice = take_machine(reader, *entry.machine, agent.name, std::move(entry.choice), draft);
  }
  if (entry.provider == nullptr) {
    for (const Node* place : {entry.reasoning, entry.cache}) {
      if (place == nullptr) continue;
      reader.note(*place,
                  fmt::format("`{}` is for a backend with `provider`; this one calls no provider",
                              place == entry.cache ? "cache" : "reasoning"),
                  "leave it out");
    }
  }
  const bool names_a_model = entry.has_model || entry.provider != nullptr ||
                             entry.bridge != nullptr || entry.machine != nullptr;
  if (!names_a_model) entry.choice.model = "scripted";
  if (entry.choice.preference == 0) entry.choice.preference = position_after(agent.chain);
  agent.chain.push_back(std::move(entry.choice));
  draft.entry_policies[agent.name].push_back(std::move(entry.policy));
}

// The file or the directory that a backend was made from; empty for a provider.
std::string_view path_of(const BackendSettings& settings) {
  const auto path = [](const auto& kind) -> std::string_view {
    if constexpr (requires { kind.path; }) {
      return kind.path;
    } else {
      return {};
    }
  };
  return std::visit(path, settings);
}

// Those with `on` wait for others to fail.
bool is_last_resort(const Node& entry) {
  const Node* on = entry.kind == yaml::Kind::map ? entry.find("on") : nullptr;
  return on != nullptr && on->kind != yaml::Kind::null;
}

}  // namespace

void take_chain(ConfigReader& reader, const Node& node, Agent& agent, Draft& draft) {
  if (!reader.is_list(node, "backends") || node.kind == yaml::Kind::null) return;
  for (const Node& item : node.items) take_backend(reader, item, agent, draft);
  if (node.items.empty()) {
    reader.note(node, fmt::format("the agent {} asks nobody", agent.name),
                "leave `backends` out for the usual one");
  } else if (std::ranges::all_of(node.items, is_last_resort)) {
    reader.note(
        node, fmt::format("the agent {} asks nobody first: all its backends have `on`", agent.name),
        "leave `on` out of one of them");
  }
}

std::string backend_name(std::string_view kind, const std::string& path,
                         const Configuration& configuration, std::string_view more) {
  const std::filesystem::path file = std::filesystem::path(path).lexically_normal();
  const auto last = file.has_filename() ? file.filename() : file.parent_path().filename();
  const std::string first = fmt::format("{}:{}{}", kind, last.string(), more);
  std::string name = first;
  for (int number = 2;; ++number) {
    const auto taken = configuration.backends.find(name);
    if (taken == configuration.backends.end() || path_of(taken->second) == path) return name;
    name = fmt::format("{} #{}", first, number);
  }
}

void add_chain_keys(Keys& keys, const std::string& section) {
  add_keys(keys, section, kChoiceMembers);
  add_keys(keys, section + "bridge.", kBridgeMembers);
  add_keys(keys, section + "reasoning.", kReasoningMembers);
  add_policy_keys(keys, section + "dispatch.");
}

}  // namespace treaty::config
