#include "treaty/cli/serve/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace treaty::cli::serve {
namespace {

using config::Configuration;

bool same(const turns::Role& left, const turns::Role& right) {
  const auto declaration = [](const turns::ClientTool& tool) { return tool.declaration; };
  return left.mode == right.mode && left.system == right.system &&
         std::ranges::equal(left.tools, right.tools, {}, declaration, declaration);
}

bool same(const turns::Agent& left, const turns::Agent& right) {
  const auto fields = [](const turns::Agent& agent) {
    return std::tie(agent.description, agent.chain, agent.max_rounds, agent.deadline,
                    agent.on_mismatch, agent.on_disconnect);
  };
  return fields(left) == fields(right) && same(left.role, right.role) &&
         std::ranges::equal(left.conversations, right.conversations,
                            [](const auto& one, const auto& other) {
                              return one.first == other.first && same(one.second, other.second);
                            });
}

bool same(const config::HttpProvider& left, const config::HttpProvider& right) {
  const auto fields = [](const config::HttpProvider& provider) {
    return std::tie(provider.kind, provider.base_url, provider.key, provider.protocol,
                    provider.ca_file, provider.timeout);
  };
  return fields(left) == fields(right);
}

bool same(const config::ScriptFile& left, const config::ScriptFile& right) {
  return left.path == right.path && left.text == right.text;
}

bool same(const config::AccessKey& left, const config::AccessKey& right) {
  return left.tenant == right.tenant && left.sha256 == right.sha256;
}

bool same(const config::Http& left, const config::Http& right) {
  const auto fields = [](const config::Http& http) {
    return std::tie(http.always_200, http.max_body_bytes, http.body_memory, http.max_header_bytes,
                    http.max_connections, http.header_timeout, http.body_timeout, http.idle_timeout,
                    http.shutdown_timeout);
  };
  return fields(left) == fields(right);
}

bool same_rules(const turns::Settings& left, const turns::Settings& right) {
  const auto fields = [](const turns::Settings& settings) {
    return std::tie(settings.explicit_sessions, settings.initial_requests, settings.tool_deadline,
                    settings.max_running_turns);
  };
  return fields(left) == fields(right);
}

// Of a map: what came, what went, what is not as it was.
template <class Map>
void compare(std::string_view what, const Map& before, const Map& after,
             std::vector<std::string>& changes) {
  for (const auto& [name, value] : before) {
    const auto found = after.find(name);
    if (found == after.end()) {
      changes.push_back(fmt::format("{} {} is gone", what, name));
    } else if (!same(value, found->second)) {
      changes.push_back(fmt::format("{} {} has changed", what, name));
    }
  }
  for (const auto& [name, value] : after) {
    if (!before.contains(name)) changes.push_back(fmt::format("{} {} is new", what, name));
  }
}

}  // namespace

std::vector<std::string> changes_between(const Configuration& before, const Configuration& after) {
  std::vector<std::string> changes;
  compare("agent", before.turns.agents, after.turns.agents, changes);
  compare("provider", before.providers, after.providers, changes);
  compare("script", before.scripts, after.scripts, changes);
  const auto same_key = [](const auto& left, const auto& right) { return same(left, right); };
  if (!std::ranges::equal(before.keys, after.keys, same_key)) {
    changes.push_back(fmt::format("keys have changed ({} of them now)", after.keys.size()));
  }
  if (!same_rules(before.turns, after.turns)) {
    changes.emplace_back("the rules of sessions and turns have changed");
  }
  if (!same(before.http, after.http)) changes.emplace_back("the limits of HTTP have changed");
  if (before.prices_file != after.prices_file) changes.emplace_back("the prices have changed");
  if (before.listen != after.listen) changes.emplace_back("listen has changed: needs a restart");
  if (before.store != after.store) changes.emplace_back("store has changed: needs a restart");
  if (before.workers != after.workers) {
    changes.emplace_back("workers has changed: needs a restart");
  }
  return changes;
}

}  // namespace treaty::cli::serve
