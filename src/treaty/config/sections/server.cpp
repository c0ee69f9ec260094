// Everything of treaty.yaml but its providers, agents and tenants.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "treaty/base/text.h"
#include "treaty/config/addresses.h"
#include "treaty/config/sections/sections.h"
#include "treaty/results/prices.h"

namespace treaty::config {
namespace {

using yaml::Node;

constexpr std::size_t kKibibyte = 1'024;
constexpr std::size_t kMebibyte = kKibibyte * 1'024;

void take_listen(ConfigReader& reader, const Node& node, Draft& draft) {
  draft.listen = &node;
  const auto text = reader.text(node);
  if (!text) return;
  auto listen = parse_listen(*text);
  if (!listen) return reader.note(node, listen.error().message, listen.error().hint);
  draft.configuration.listen = *std::move(listen);
}

void take_store(ConfigReader& reader, const Node& node, Draft& draft) {
  draft.store = &node;
  const auto text = reader.text(node);
  if (!text) return;
  auto store = parse_store(*text, reader.path_of(""), reader.sources());
  if (!store) return reader.note(node, store.error().message, store.error().hint);
  draft.configuration.store = *std::move(store);
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && std::ranges::all_of(text, [](char c) {
           return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'f');
         });
}

constexpr auto kKeyMembers = std::to_array<ConfigMember<AccessKey>>({
    {"tenant", [](ConfigReader& reader, const Node& node,
                  AccessKey& key) { key.tenant = reader.phrase(node).value_or("?"); }},
    {"sha256",
     [](ConfigReader& reader, const Node& node, AccessKey& key) {
       const auto text = reader.text(node);
       if (text && !is_sha256(*text)) {
         reader.note(node, "a key is known by its SHA-256, 64 hexadecimal digits",
                     "printf %s \"$KEY\" | sha256sum");
       }
       key.sha256 = text ? folded(*text) : "?";
     }},
});

// Whoever writes the key itself would have it read by everybody who reads the file.
constexpr std::string_view kSecretHint =
    "a key has `tenant` and `sha256`, which `printf %s \"$KEY\" | sha256sum` prints";

void take_keys(ConfigReader& reader, const Node& node, Draft& draft) {
  draft.keys = &node;
  if (!reader.is_list(node, "keys")) return;
  auto& keys = draft.configuration.keys;
  for (const Node& item : node.items) {
    if (item.kind != yaml::Kind::map) {
      reader.note(item, "a key is a map", kSecretHint);
      continue;
    }
    AccessKey key;
    reader.members<AccessKey>(item, "a key", kKeyMembers, key);
    if (key.tenant.empty() || key.sha256.empty()) {
      reader.note(item, fmt::format("a key needs `{}`", key.tenant.empty() ? "tenant" : "sha256"),
                  kSecretHint);
    } else if (std::ranges::find(keys, key.sha256, &AccessKey::sha256) != keys.end()) {
      reader.note(item, "the same key is there twice", "a key belongs to one tenant");
    }
    keys.push_back(std::move(key));
  }
}

void take_prices(ConfigReader& reader, const Node& node, Draft& draft) {
  if (node.text == kBuiltInPrices) return;
  auto file = reader.file(node);
  if (!file) return;
  if (const auto prices = results::read_prices(file->text); !prices) {
    reader.note(node, fmt::format("the price table {} is not in order: {}: {}", node.text,
                                  prices.error().where, prices.error().message));
  }
  draft.configuration.prices_file = std::move(file->path);
  draft.configuration.prices_text = std::move(file->text);
}

constexpr auto kHttpMembers = std::to_array<ConfigMember<Http>>({
    {"always_200", yaml::take_boolean<&Http::always_200>},
    {"max_body", take_size<kKibibyte, 16 * kMebibyte, &Http::max_body_bytes>},
    {"body_memory", take_size<16 * kMebibyte, 1024 * 1024 * kMebibyte, &Http::body_memory>},
    {"max_header", take_size<kKibibyte, kMebibyte, &Http::max_header_bytes>},
    {"max_connections", yaml::take_integer<1, 1'000'000, &Http::max_connections>},
    {"header_timeout", take_duration<24, &Http::header_timeout>},
    {"body_timeout", take_duration<24, &Http::body_timeout>},
    {"idle_timeout", take_duration<24, &Http::idle_timeout>},
    {"shutdown_timeout", take_duration<24, &Http::shutdown_timeout>},
});

constexpr std::array<std::string_view, 2> kOpenWords = {"implicit", "explicit"};

constexpr auto kSessionMembers = std::to_array<ConfigMember<turns::Settings>>({
    {"open", take_word<kOpenWords, &turns::Settings::explicit_sessions>},
    {"initial", yaml::take_boolean<&turns::Settings::initial_requests>},
});

constexpr auto kTurnMembers = std::to_array<ConfigMember<Configuration>>({
    {"tool_deadline",
     take_duration<365 * 24, &Configuration::turns, &turns::Settings::tool_deadline>},
    {"max_running",
     yaml::take_integer<1, 1'000'000, &Configuration::turns, &turns::Settings::max_running_turns>},
    {"deadline", take_duration<24, &Configuration::turn_deadline>},
});

constexpr auto kFileMembers = std::to_array<ConfigMember<Draft>>({
    {"listen", take_listen},
    {"store", take_store},
    {"workers", yaml::take_integer<0, 1'024, &Draft::configuration, &Configuration::workers>},
    {"keys", take_keys},
    {"providers", take_providers},
    {"agents", take_agents},
    {"tenants", take_tenants},
    {"machines", take_machines},
    {"sessions",
     [](ConfigReader& reader, const Node& node, Draft& draft) {
       reader.members<turns::Settings>(node, "sessions", kSessionMembers,
                                       draft.configuration.turns);
     }},
    {"turns",
     [](ConfigReader& reader, const Node& node, Draft& draft) {
       reader.members<Configuration>(node, "turns", kTurnMembers, draft.configuration);
     }},
    {"http",
     [](ConfigReader& reader, const Node& node, Draft& draft) {
       reader.members<Http>(node, "http", kHttpMembers, draft.configuration.http);
     }},
    {"prices", take_prices},
});

}  // namespace

std::span<const ConfigMember<Draft>> file_members() { return kFileMembers; }

void add_server_keys(Keys& keys) {
  add_keys(keys, "", kFileMembers);
  add_keys(keys, "keys[].", kKeyMembers);
  add_keys(keys, "sessions.", kSessionMembers);
  add_keys(keys, "turns.", kTurnMembers);
  add_keys(keys, "http.", kHttpMembers);
}

}  // namespace treaty::config
