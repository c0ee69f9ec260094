// `providers`: who is asked over HTTP, where, and with which key.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "treaty/backends/providers/endpoint.h"
#include "treaty/base/text.h"
#include "treaty/config/sections/sections.h"

namespace treaty::config {
namespace {

using backends::Provider;
using yaml::Node;

constexpr std::chrono::milliseconds kLongestCall = std::chrono::hours(24);

// Where the members of one provider stand: what they mean depends on its kind.
struct Written {
  const Node* kind{};
  const Node* base_url{};
  const Node* key{};
  const Node* key_env{};
  const Node* protocol{};
  const Node* ca_file{};
  const Node* timeout{};
  const Node* dispatch{};
};

constexpr auto kProviderMembers = std::to_array<ConfigMember<Written>>({
    {"kind", take_place<&Written::kind>},
    {"base_url", take_place<&Written::base_url>},
    {"key", take_place<&Written::key>},
    {"key_env", take_place<&Written::key_env>},
    {"protocol", take_place<&Written::protocol>},
    {"ca_file", take_place<&Written::ca_file>},
    {"timeout", take_place<&Written::timeout>},
    {"dispatch", take_place<&Written::dispatch>},
});

std::vector<std::string_view> kinds() {
  std::vector<std::string_view> names;
  for (const Provider& provider : backends::all_providers()) names.push_back(provider.name);
  return names;
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](char c) {
    return is_word_character(c) || c == '-' || c == '.';
  });
}

// A provider without a kind is of the kind that it is named after.
const Provider* kind_of(ConfigReader& reader, const Node& name, const Written& written) {
  const std::vector<std::string_view> names = kinds();
  if (written.kind != nullptr) {
    const auto index = reader.word(*written.kind, names);
    return index ? &backends::all_providers()[*index] : nullptr;
  }
  const Provider* provider = backends::find_provider(name.text);
  if (provider == nullptr) {
    reader.note(name, fmt::format("the provider {} needs a `kind`", name.text),
                fmt::format("one of {}", fmt::join(names, ", ")));
  }
  return provider;
}

const backends::Protocol* protocol_of(ConfigReader& reader, const Provider& provider,
                                      const Written& written, HttpProvider& out) {
  if (written.protocol == nullptr) return provider.protocol;
  std::vector<std::string_view> spoken = {provider.protocol->name};
  for (const backends::Protocol* other : provider.also_speaks) spoken.push_back(other->name);
  const auto index = reader.word(*written.protocol, spoken);
  if (!index) return provider.protocol;
  out.protocol = spoken[*index];
  return provider.find_protocol(out.protocol);
}

void take_base_url(ConfigReader& reader, const Node& name, const Provider& provider,
                   const Written& written, HttpProvider& out) {
  std::string given;
  if (written.base_url != nullptr) {
    const auto text = reader.phrase(*written.base_url);
    if (!text) return;
    given = *text;
  }
  const Node& place = written.base_url != nullptr ? *written.base_url : name;
  out.base_url = backends::base_url_of(provider, given, reader.sources().environment);
  const backends::Protocol* protocol = protocol_of(reader, provider, written, out);
  if (out.base_url.empty()) {
    return reader.note(place, fmt::format("{} has no address of its own", provider.name),
                       fmt::format("write base_url, or set {}", provider.base_url_variables[0]));
  }
  const backends::Call call{.model = "any"};
  const auto address = backends::address_of(provider, out.base_url, *protocol, call);
  if (!address) {
    reader.note(place, address.error().message, "such as https://api.example.com/v1");
  }
}

// The key as it is written; nothing when something is wrong with it, which was noted then. No
// message quotes it: what stands under key_env may be the key itself.
std::optional<std::string> written_key(ConfigReader& reader, const Written& written) {
  const Node& place = written.key != nullptr ? *written.key : *written.key_env;
  auto text = reader.text(place);
  if (!text || written.key != nullptr) return text;
  auto value = reader.sources().environment(trimmed(*text));
  if (!value) {
    reader.note(place, "the environment variable that key_env names is not set",
                "key_env is the name of a variable, such as OPENAI_API_KEY");
  }
  return value;
}

// False when something is wrong with it.
bool take_key(ConfigReader& reader, const Provider& provider, const Written& written,
              HttpProvider& out) {
  if (written.key == nullptr && written.key_env == nullptr) {
    out.key = backends::key_of(provider, reader.sources().environment);
    return true;
  }
  if (written.key != nullptr && written.key_env != nullptr) {
    reader.note(*written.key_env, "there is a `key` already", "leave out one of the two");
  }
  const auto key = written_key(reader, written);
  if (!key) return false;
  out.key = trimmed(*key);
  if (has_control_character(out.key)) {
    reader.note(written.key != nullptr ? *written.key : *written.key_env,
                "the key holds a control character", "a key is one line of text");
  }
  return true;
}

void take_provider(ConfigReader& reader, const Node& name, const Node& node, Draft& draft) {
  if (!is_name(name.text)) {
    reader.note(name, "the name of a provider has 1 to 64 letters, digits, `_`, `-` and `.`");
  }
  Written written;
  reader.members<Written>(node, "a provider", kProviderMembers, written);
  draft.provider_order.push_back(name.text);
  draft.provider_nodes[name.text] = &name;
  auto& out = draft.configuration.backends[name.text].emplace<HttpProvider>();
  if (written.dispatch != nullptr) take_policy(reader, *written.dispatch, out.dispatch);
  const Provider* provider = kind_of(reader, name, written);
  if (provider == nullptr) return;
  out.kind = provider->name;
  take_base_url(reader, name, *provider, written, out);
  if (!take_key(reader, *provider, written, out)) draft.keyless_providers.insert(name.text);
  if (written.ca_file != nullptr) {
    if (auto file = reader.file(*written.ca_file)) out.ca_file = std::move(file->path);
  }
  if (written.timeout != nullptr) {
    out.timeout = reader.duration(*written.timeout, kLongestCall).value_or(out.timeout);
  }
}

void settle_key(ConfigReader& reader, const Draft& draft, const std::string& name) {
  const auto* used = draft.configuration.find_backend<HttpProvider>(name);
  const Provider* provider = used == nullptr ? nullptr : backends::find_provider(used->kind);
  if (provider == nullptr || !provider->key.required || !used->key.empty()) return;
  if (draft.keyless_providers.contains(name)) return;
  const auto place = draft.provider_nodes.find(name);
  if (place == draft.provider_nodes.end()) return;
  reader.note(*place->second, fmt::format("the provider {} has no key", name),
              fmt::format("set {}, or write key: ${{NAME_OF_A_VARIABLE}}",
                          fmt::join(provider->key.environment_variables, " or ")));
}

// What the provider does not have is refused here, so that it is not left out in silence later.
void check_reasoning(ConfigReader& reader, const ProviderReference& reference,
                     const HttpProvider& settings, const dispatch::Choice& choice,
                     const turns::Agent& agent) {
  if (!choice.reasoning) return;
  const auto has_tools = [](const auto& role) { return !role.second.tools.empty(); };
  const bool offers_tools =
      !agent.role.tools.empty() || std::ranges::any_of(agent.conversations, has_tools);
  auto refusal = refusal_of(settings, choice.model, *choice.reasoning, offers_tools);
  if (!refusal.empty()) reader.note(*reference.reasoning, std::move(refusal));
}

}  // namespace

std::string refusal_of(const HttpProvider& settings, std::string_view model,
                       const backends::Reasoning& reasoning, bool has_tools) {
  const Provider* provider = backends::find_provider(settings.kind);
  const auto* protocol = provider == nullptr ? nullptr : provider->find_protocol(settings.protocol);
  if (protocol == nullptr) return {};
  return backends::refusal_of(*provider, *protocol, model, reasoning, has_tools);
}

std::string_view default_model_of(std::string_view kind) {
  const Provider* provider = backends::find_provider(kind);
  return provider == nullptr ? std::string_view() : provider->default_model;
}

HttpProvider provider_of_kind(const Sources& sources, std::string_view kind) {
  const Provider* provider = backends::find_provider(kind);
  if (provider == nullptr) return {};
  return {.kind = std::string(kind),
          .base_url = backends::base_url_of(*provider, "", sources.environment),
          .key = backends::key_of(*provider, sources.environment)};
}

void take_providers(ConfigReader& reader, const Node& node, Draft& draft) {
  if (!reader.is_map(node, "providers")) return;
  for (const auto& [name, value] : node.members) take_provider(reader, name, value, draft);
}

void settle_providers(ConfigReader& reader, Draft& draft) {
  std::vector<std::string_view> names(draft.provider_order.begin(), draft.provider_order.end());
  std::set<std::string> used;
  for (const ProviderReference& reference : draft.references) {
    turns::Agent& agent = draft.configuration.turns.agents.at(reference.agent);
    dispatch::Choice& choice = agent.chain.at(reference.index);
    const auto* provider = draft.configuration.find_backend<HttpProvider>(choice.backend);
    if (provider == nullptr) {
      const std::string_view meant = closest(names, choice.backend);
      reader.note(*reference.provider,
                  fmt::format("there is no provider {}", reference.provider->text),
                  !meant.empty()  ? fmt::format("did you mean {}?", meant)
                  : names.empty() ? "add it under `providers`"
                                  : fmt::format("there are {}", fmt::join(names, ", ")));
      continue;
    }
    used.insert(choice.backend);
    if (provider->kind.empty()) continue;
    if (!reference.has_model) choice.model = default_model_of(provider->kind);
    if (reference.reasoning != nullptr)
      check_reasoning(reader, reference, *provider, choice, agent);
    if (choice.model.empty() && !reference.has_model) {
      const bool is_in_agent = reference.entry != reference.provider;
      reader.note(*reference.entry, fmt::format("say which model of {}", choice.backend),
                  is_in_agent ? "add model: NAME"
                              : fmt::format("agents: {{{}: {{backends: [{{provider: {}, "
                                            "model: NAME}}]}}}}",
                                            reference.agent, choice.backend));
    }
  }
  for (const std::string& name : used) settle_key(reader, draft, name);
}

void add_provider_keys(Keys& keys) { add_keys(keys, "providers.NAME.", kProviderMembers); }

}  // namespace treaty::config
