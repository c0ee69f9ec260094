#include "treaty/config/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "treaty/backends/providers/provider.h"
#include "treaty/base/hash.h"
#include "treaty/base/json_write.h"
#include "treaty/base/secrets.h"
#include "treaty/base/text.h"
#include "treaty/config/addresses.h"
#include "treaty/config/sections/sections.h"
#include "treaty/config/units.h"

namespace treaty::config {
namespace {

using yaml::Kind;
using yaml::Node;

constexpr std::string_view kMask = "***";

// The masked form; for a comparison followed by a digest, which is never printed.
std::string secret(std::string_view masked, std::string_view value, ShowPurpose purpose) {
  if (purpose == ShowPurpose::people) return std::string(masked);
  Sha256 digest;
  digest.add(value);
  return fmt::format("{}{}{}", masked, kDigestMark, digest.hex());
}

Node text(std::string_view value) { return {.kind = Kind::string, .text = std::string(value)}; }

Node number(std::int64_t value) {
  return {.kind = Kind::integer,
          .integer = value,
          .decimal = static_cast<double>(value),
          .text = std::to_string(value)};
}

Node decimal(double value) {
  return {.kind = Kind::decimal, .decimal = value, .text = json::decimal_text(value)};
}

Node flag(bool value) {
  return {.kind = Kind::boolean, .boolean = value, .text = value ? "true" : "false"};
}

Node duration(std::chrono::milliseconds value) { return text(duration_text(value)); }
Node size(std::size_t value) { return text(size_text(value)); }
Node count(std::size_t value) { return number(static_cast<std::int64_t>(value)); }

Node list_of(const auto& values, const auto& node_of) {
  Node list{.kind = Kind::list};
  for (const auto& value : values) list.items.push_back(node_of(value));
  return list;
}

// A map that is filled in order.
struct Map {
  Node node{.kind = Kind::map};
  Map& add(std::string_view key, Node value) {
    node.members.emplace_back(text(key), std::move(value));
    return *this;
  }
  Map& add_text(std::string_view key, std::string_view value) {
    return value.empty() ? *this : add(key, text(value));
  }
};

Node keys_of(const Configuration& configuration, ShowPurpose purpose) {
  Node list{.kind = Kind::list};
  for (const AccessKey& key : configuration.keys) {
    list.items.push_back(Map{}
                             .add("tenant", text(key.tenant))
                             .add("sha256", text(purpose == ShowPurpose::people
                                                     ? key.sha256
                                                     : secret(kMask, key.sha256, purpose)))
                             .node);
  }
  return list;
}

std::string_view own_protocol(std::string_view kind) {
  const backends::Provider* provider = backends::find_provider(kind);
  return provider == nullptr ? std::string_view() : provider->protocol->name;
}

Node seconds(dispatch::Seconds value) {
  return duration(std::chrono::milliseconds(std::llround(value * 1'000)));
}

Node policy_of(const dispatch::Policy& policy) {
  Map map;
  const auto add_seconds = [&](std::string_view key, std::optional<dispatch::Seconds> value) {
    if (value) map.add(key, seconds(*value));
  };
  add_seconds("max_wait", policy.max_wait);
  if (policy.max_attempts) map.add("max_attempts", number(*policy.max_attempts));
  if (policy.backoff) map.add("backoff", list_of(*policy.backoff, seconds));
  map.add("jitter", decimal(policy.jitter));
  map.add("max_concurrent", number(policy.max_concurrent));
  map.add("breaker_failures", number(policy.breaker_failures));
  map.add("breaker_open", seconds(policy.breaker_open));
  add_seconds("connect", policy.connect);
  add_seconds("first_token", policy.first_token);
  add_seconds("stall", policy.stall);
  return map.node;
}

Node budget_of(const dispatch::Budget& budget) {
  Map map;
  if (budget.tokens) map.add("tokens_per_day", number(*budget.tokens));
  if (budget.picodollars) {
    map.add("dollars_per_day", {.kind = Kind::decimal,
                                .decimal = static_cast<double>(*budget.picodollars) / 1e12,
                                .text = dollars_text(*budget.picodollars)});
  }
  return map.node;
}

Node provider_of(const HttpProvider& provider, ShowPurpose purpose) {
  Map map;
  map.add("kind", text(provider.kind));
  const std::string base_url = mask_secrets(provider.base_url);
  map.add_text("base_url", base_url == provider.base_url
                               ? base_url
                               : secret(base_url, provider.base_url, purpose));
  map.add_text("key", provider.key.empty() ? "" : secret(kMask, provider.key, purpose));
  map.add_text("protocol",
               provider.protocol.empty() ? own_protocol(provider.kind) : provider.protocol);
  map.add_text("ca_file", provider.ca_file);
  map.add("timeout", duration(provider.timeout));
  map.add("dispatch", policy_of(overridden({}, provider.dispatch)));
  return map.node;
}

Node bridge_of(const BridgeDirectory& bridge) {
  return Map{}
      .add("dir", text(bridge.path))
      .add("agent_name", text(bridge.agent_name))
      .add("timeout", duration(bridge.timeout))
      .node;
}

// What a file holds is no part of what is shown, but a change of it is a change.
void add_content(Map& map, std::string_view key, std::string_view digest, ShowPurpose purpose) {
  if (purpose != ShowPurpose::comparison) return;
  map.add(fmt::format("{}{}", key, kContent), text(secret("", digest, purpose)));
}

Node reasoning_of(const backends::Reasoning& reasoning) {
  Map map;
  if (reasoning.effort) map.add("effort", text(name_of(*reasoning.effort)));
  if (reasoning.budget_tokens) map.add("budget_tokens", number(*reasoning.budget_tokens));
  return map.node;
}

// Entries with the same address, key and model are one backend, which is not asked twice.
bool is_same_backend(const dispatch::Choice& one, const dispatch::Choice& other,
                     const Configuration& configuration) {
  if (one.model != other.model) return false;
  const auto* first = configuration.find_backend<HttpProvider>(one.backend);
  const auto* second = configuration.find_backend<HttpProvider>(other.backend);
  if (first == nullptr || second == nullptr) return one.backend == other.backend;
  return std::tie(first->base_url, first->key) == std::tie(second->base_url, second->key);
}

// As it is when all backends before this one have failed.
dispatch::Policy policy_in(const std::vector<dispatch::Choice>& chain,
                           const dispatch::Choice& choice, const Configuration& configuration) {
  const auto is_asked_later = [&](const dispatch::Choice& other) {
    return std::pair(other.preference, &other) > std::pair(choice.preference, &choice);
  };
  const auto was_asked = [&](const dispatch::Choice& other) {
    return std::ranges::any_of(chain, [&](const dispatch::Choice& earlier) {
      return !is_asked_later(earlier) && (earlier.on.empty() || &earlier == &choice) &&
             is_same_backend(earlier, other, configuration);
    });
  };
  const auto follows = [&](const dispatch::Choice& other) {
    return other.on.empty() && is_asked_later(other) && !was_asked(other);
  };
  const auto* provider = configuration.find_backend<HttpProvider>(choice.backend);
  dispatch::Pace pace = provider == nullptr ? dispatch::Pace::own : pace_of(*provider);
  if (provider != nullptr && choice.reasoning) pace = dispatch::Pace::slow;
  return dispatch::effective_policy(choice.policy, std::ranges::any_of(chain, follows), pace);
}

Node choice_of(const std::vector<dispatch::Choice>& chain, const dispatch::Choice& choice,
               const Configuration& configuration, ShowPurpose purpose) {
  Map map;
  const auto* machine = configuration.find_backend<MachineFile>(choice.backend);
  if (choice.backend == kDemoBackend) {
    map.add("scripted", text("demo"));
  } else if (const auto* script = configuration.find_backend<ScriptFile>(choice.backend)) {
    map.add("script", text(script->path));
    add_content(map, "script", script->text, purpose);
  } else if (const auto* bridge = configuration.find_backend<BridgeDirectory>(choice.backend)) {
    map.add("bridge", bridge_of(*bridge));
  } else if (machine != nullptr) {
    map.add("machine", text(machine->path));
    add_content(map, "machine", machine->sha256, purpose);
  } else {
    map.add("provider", text(choice.backend));
  }
  if (machine == nullptr) map.add_text("model", choice.model);
  map.add("context_window", number(choice.context_window));
  if (choice.max_output_tokens) map.add("max_output_tokens", number(*choice.max_output_tokens));
  if (choice.temperature) map.add("temperature", decimal(*choice.temperature));
  if (choice.reasoning) map.add("reasoning", reasoning_of(*choice.reasoning));
  if (configuration.find_backend<HttpProvider>(choice.backend) != nullptr) {
    map.add("cache", text(choice.caches ? "on" : "off"));
  }
  map.add("preference", number(choice.preference)).add("weight", number(choice.weight));
  if (!choice.on.empty()) map.add("on", list_of(choice.on, text));
  map.add("dispatch", policy_of(policy_in(chain, choice, configuration)));
  return map.node;
}

Node tools_of(const turns::AgentRole& role) {
  Node list{.kind = Kind::list};
  for (const turns::ClientTool& tool : role.tools) {
    Map map;
    map.add("name", text(tool.declaration.name)).add("run", text("client"));
    map.add("description", text(tool.declaration.description));
    // JSON is YAML.
    if (auto schema = yaml::read(tool.declaration.parameters_json);
        schema && !tool.declaration.parameters_json.empty()) {
      map.add("parameters", *std::move(schema));
    }
    list.items.push_back(std::move(map.node));
  }
  return list;
}

void add_role(Map& map, const turns::AgentRole& role) {
  map.add("mode", text(role.mode));
  map.add("system", text(role.system));
  map.add("tools", tools_of(role));
}

Node agent_of(const turns::Agent& agent, const Configuration& configuration, ShowPurpose purpose) {
  Map map;
  map.add("description", text(agent.description));
  add_role(map, agent.role);
  map.add("backends", list_of(agent.chain, [&](const dispatch::Choice& choice) {
            return choice_of(agent.chain, choice, configuration, purpose);
          }));
  Map conversations;
  for (const auto& [name, role] : agent.conversations) {
    Map conversation;
    add_role(conversation, role);
    conversations.add(name, std::move(conversation.node));
  }
  map.add("conversations", std::move(conversations.node));
  const bool fails = agent.on_mismatch == turns::OnMismatch::fail_turn;
  const bool cancels = agent.on_disconnect == turns::OnDisconnect::cancel;
  map.add("max_rounds", number(agent.max_rounds));
  map.add("deadline", duration(agent.deadline));
  map.add("on_mismatch", text(fails ? "fail_turn" : "keep"));
  map.add("on_disconnect", text(cancels ? "cancel" : "continue"));
  map.add("on_cut", text(agent.on_cut == turns::OnCut::go_on ? "continue" : "fail"));
  map.add("show_thinking", flag(agent.show_thinking));
  if (!agent.budget.is_empty()) map.add("budget", budget_of(agent.budget));
  return map.node;
}

Node tenants_of(const Configuration& configuration) {
  Map tenants;
  for (const auto& [name, budget] : configuration.turns.tenant_budgets) {
    tenants.add(name, Map{}.add("budget", budget_of(budget)).node);
  }
  return tenants.node;
}

Node http_of(const Http& http) {
  return Map{}
      .add("always_200", flag(http.always_200))
      .add("max_body", size(http.max_body_bytes))
      .add("body_memory", size(http.body_memory))
      .add("max_header", size(http.max_header_bytes))
      .add("max_connections", count(http.max_connections))
      .add("header_timeout", duration(http.header_timeout))
      .add("body_timeout", duration(http.body_timeout))
      .add("idle_timeout", duration(http.idle_timeout))
      .add("shutdown_timeout", duration(http.shutdown_timeout))
      .node;
}

// A running server cannot change these.
constexpr std::array<std::string_view, 3> kFixed = {"listen", "store", "workers"};

// Where two trees differ. No value is told: a variable may have brought it.
class Differences {
 public:
  void compare(const std::string& path, const Node& before, const Node& after) {
    if (before.kind == Kind::map && after.kind == Kind::map)
      return compare_maps(path, before, after);
    if (before.kind == Kind::list && after.kind == Kind::list) {
      return compare_lists(path, before, after);
    }
    if (before.kind == after.kind && before.text == after.text) return;
    add(path, "changed");
  }

  std::vector<std::string> take() { return std::move(lines_); }

 private:
  void compare_maps(const std::string& path, const Node& before, const Node& after) {
    const std::string prefix = path.empty() ? "" : path + ".";
    for (const auto& [key, value] : before.members) {
      if (const Node* other = after.find(key.text)) {
        compare(prefix + key.text, value, *other);
      } else if (!key.text.ends_with(kContent)) {  // The file's name tells it.
        add(prefix + key.text, "removed");
      }
    }
    for (const auto& [key, value] : after.members) {
      if (before.find(key.text) == nullptr && !key.text.ends_with(kContent)) {
        add(prefix + key.text, "added");
      }
    }
  }

  void compare_lists(const std::string& path, const Node& before, const Node& after) {
    const std::size_t both = std::min(before.items.size(), after.items.size());
    for (std::size_t i = 0; i < both; ++i) {
      compare(fmt::format("{}[{}]", path, i), before.items[i], after.items[i]);
    }
    for (std::size_t i = both; i < before.items.size(); ++i) {
      add(fmt::format("{}[{}]", path, i), "removed");
    }
    for (std::size_t i = both; i < after.items.size(); ++i) {
      add(fmt::format("{}[{}]", path, i), "added");
    }
  }

  void add(const std::string& path, std::string_view what) {
    const bool is_fixed = std::ranges::find(kFixed, path) != kFixed.end();
    lines_.push_back(fmt::format("{}: {}{}", path, what, is_fixed ? " (needs a restart)" : ""));
  }

  std::vector<std::string> lines_{};
};

}  // namespace

Node shown(const Configuration& configuration, ShowPurpose purpose) {
  Map map;
  map.add("listen", text(text_of(configuration.listen)));
  map.add("store", text(configuration.store));
  map.add("workers", number(configuration.workers));
  map.add("keys", keys_of(configuration, purpose));
  Map providers;
  for (const auto& [name, provider] : configuration.backends_of<HttpProvider>()) {
    providers.add(name, provider_of(*provider, purpose));
  }
  map.add("providers", std::move(providers.node));
  Map agents;
  for (const auto& [name, agent] : configuration.turns.agents) {
    agents.add(name, agent_of(agent, configuration, purpose));
  }
  map.add("agents", std::move(agents.node));
  map.add("tenants", tenants_of(configuration));
  map.add("machines",
          Map{}.add("allow_addresses", list_of(configuration.allowed_addresses, text)).node);
  const turns::Settings& turns = configuration.turns;
  map.add("sessions", Map{}
                          .add("open", text(turns.explicit_sessions ? "explicit" : "implicit"))
                          .add("initial", flag(turns.initial_requests))
                          .node);
  map.add("turns", Map{}
                       .add("tool_deadline", duration(turns.tool_deadline))
                       .add("max_running", count(turns.max_running_turns))
                       .add("deadline", duration(configuration.turn_deadline))
                       .node);
  map.add("http", http_of(configuration.http));
  map.add("prices",
          text(configuration.prices_file.empty() ? kBuiltInPrices : configuration.prices_file));
  add_content(map, "prices", configuration.prices_text, purpose);
  return map.node;
}

// The difference of what `treaty config show` prints.
std::vector<std::string> changes_between(const Configuration& before, const Configuration& after) {
  Differences differences;
  differences.compare("", shown(before, ShowPurpose::comparison),
                      shown(after, ShowPurpose::comparison));
  return differences.take();
}

}  // namespace treaty::config
