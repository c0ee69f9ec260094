#include <fmt/format.h>

#include <array>

#include "treaty/config/sections/sections.h"

namespace treaty::config {
namespace {

using dispatch::Policy;
using dispatch::Seconds;
using yaml::Node;

constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24);
constexpr std::chrono::milliseconds kNone(0);

std::optional<Seconds> seconds(ConfigReader& reader, const Node& node,
                               std::chrono::milliseconds least) {
  const auto time = reader.duration(node, kLongest, least);
  if (!time) return std::nullopt;
  return std::chrono::duration<Seconds>(*time).count();
}

// One duration is a list of one.
void take_backoff(ConfigReader& reader, const Node& node, PolicyOverrides& overrides) {
  constexpr std::size_t kMost = 20;
  if (node.is_scalar()) {
    if (const auto only = seconds(reader, node, kNone)) overrides.backoff = {*only};
    return;
  }
  if (!reader.is_list(node, "durations")) return;
  if (node.items.empty() || node.items.size() > kMost) {
    return reader.note(node, fmt::format("expected 1 to {} durations", kMost),
                       "such as [2s, 8s, 16s]; the last one stays, and 0s waits for nothing");
  }
  std::vector<Seconds> waits;
  for (const Node& item : node.items) {
    if (const auto wait = seconds(reader, item, kNone)) waits.push_back(*wait);
  }
  if (!waits.empty()) overrides.backoff = std::move(waits);
}

template <auto Member>
void take_timeout(ConfigReader& reader, const Node& node, PolicyOverrides& overrides) {
  overrides.*Member = seconds(reader, node, std::chrono::milliseconds(1));
}

constexpr auto kPolicyMembers = std::to_array<ConfigMember<PolicyOverrides>>({
    {"max_wait", [](ConfigReader& reader, const Node& node,
                    PolicyOverrides& out) { out.max_wait = seconds(reader, node, kNone); }},
    {"max_attempts", yaml::take_integer<1, 100, &PolicyOverrides::max_attempts>},
    {"backoff", take_backoff},
    {"jitter", [](ConfigReader& reader, const Node& node,
                  PolicyOverrides& out) { out.jitter = reader.decimal(node, 0, 1); }},
    {"max_concurrent", yaml::take_integer<0, 100'000, &PolicyOverrides::max_concurrent>},
    {"breaker_failures", yaml::take_integer<0, 1'000, &PolicyOverrides::breaker_failures>},
    {"breaker_open", take_timeout<&PolicyOverrides::breaker_open>},
    {"connect", take_timeout<&PolicyOverrides::connect>},
    {"first_token", take_timeout<&PolicyOverrides::first_token>},
    {"stall", take_timeout<&PolicyOverrides::stall>},
});

}  // namespace

dispatch::Pace pace_of(const HttpProvider& provider) {
  const bool is_local = provider.kind == "ollama" || provider.kind == "vllm";
  return is_local ? dispatch::Pace::slow : dispatch::Pace::fast;
}

void take_policy(ConfigReader& reader, const Node& node, PolicyOverrides& overrides) {
  reader.members<PolicyOverrides>(node, "dispatch", kPolicyMembers, overrides);
}

Policy overridden(Policy policy, const PolicyOverrides& overrides) {
  const auto override_one = [](auto& one, const auto& by) {
    if (by) one = by;
  };
  override_one(policy.max_wait, overrides.max_wait);
  override_one(policy.max_attempts, overrides.max_attempts);
  override_one(policy.backoff, overrides.backoff);
  override_one(policy.connect, overrides.connect);
  override_one(policy.first_token, overrides.first_token);
  override_one(policy.stall, overrides.stall);
  policy.jitter = overrides.jitter.value_or(policy.jitter);
  policy.max_concurrent = overrides.max_concurrent.value_or(policy.max_concurrent);
  policy.breaker_failures = overrides.breaker_failures.value_or(policy.breaker_failures);
  policy.breaker_open = overrides.breaker_open.value_or(policy.breaker_open);
  return policy;
}

void settle_policies(Draft& draft) {
  for (auto& [name, agent] : draft.configuration.turns.agents) {
    const PolicyOverrides& of_agent = draft.agent_policies[name];
    auto& of_entries = draft.entry_policies[name];
    of_entries.resize(agent.chain.size());  // The usual backend has no entry in the file.
    for (std::size_t i = 0; i < agent.chain.size(); ++i) {
      dispatch::Choice& choice = agent.chain[i];
      if (const auto* provider = draft.configuration.find_backend<HttpProvider>(choice.backend)) {
        choice.policy = overridden(choice.policy, provider->dispatch);
      }
      choice.policy = overridden(overridden(choice.policy, of_agent), of_entries[i]);
    }
  }
}

void add_policy_keys(Keys& keys, const std::string& section) {
  add_keys(keys, section, kPolicyMembers);
}

}  // namespace treaty::config
