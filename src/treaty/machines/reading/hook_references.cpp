#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "treaty/machines/reading/sections.h"

namespace treaty::machines {
namespace {

using yaml::Kind;

constexpr std::array<std::string_view, 5> kBuiltIn = {"logging", "metrics", "webhook", "command",
                                                      "rate-limit"};
constexpr std::array<std::string_view, 2> kKeys = {"name", "args"};
constexpr std::string_view kPolicy = "rate-limit";

// What the policy calls a state, and the state that it takes without being told.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kPolicyStates = {
    {{"minute", "short_wait"}, {"hour", "long_wait"}, {"day", "switch_provider"}, {"fatal", ""}}};

// MCH-19.
void check_name(Reader& reader, const Place& place, std::string_view name) {
  if (std::ranges::find(kBuiltIn, name) != kBuiltIn.end()) return;
  if (reader.options.hooks.contains(name)) return;
  Names known(kBuiltIn.begin(), kBuiltIn.end());
  known.insert(reader.options.hooks.begin(), reader.options.hooks.end());
  std::string hint = hint_nearest(known, name);
  if (hint.empty()) {
    hint = fmt::format("there are {}; a hook of your own is a program behind `command`",
                       fmt::join(known, ", "));
  }
  reader.findings.violate("MCH-19", place, fmt::format("no hook is registered as {}", quote(name)),
                          std::move(hint));
}

// MCH-08. The states that the policy takes by itself need not exist; those that are named do.
void check_policy(Reader& reader, const Place& arguments) {
  for (const auto& [argument, _] : kPolicyStates) {
    const auto place = arguments.find(argument);
    if (place)
      reader.name(*place, fmt::format("{} of the policy", argument), reader.states, "MCH-08");
  }
}

void read_hook_map(Reader& reader, const Place& place, std::vector<HookReference>& out) {
  reader.refuse_unknown_keys(place, "a hook", kKeys);
  const auto name_place = place.find("name");
  if (!name_place) {
    reader.findings.violate("MCH-05", place, "a hook without a name", "write {name: …, args: {…}}");
    return;
  }
  const auto name = reader.text(*name_place, "the name of a hook");
  if (!name) return;
  check_name(reader, *name_place, *name);
  HookReference hook{.name = *name};
  const auto arguments = place.find("args");
  if (arguments && reader.is_map(*arguments, "args")) {
    hook.arguments = to_value(arguments->value()).as_object();
    if (*name == kPolicy) check_policy(reader, *arguments);
  }
  out.push_back(std::move(hook));
}

void read_hook(Reader& reader, const Place& place, std::vector<HookReference>& out) {
  if (place.kind() == Kind::map) return read_hook_map(reader, place, out);
  if (place.kind() != Kind::string) {
    return reader.wrong(place, "a hook", "a name or {name, args}");
  }
  check_name(reader, place, place.value().text);
  out.push_back({.name = place.value().text});
}

}  // namespace

std::vector<HookReference> read_hooks(Reader& reader, const Place& place) {
  std::vector<HookReference> out;
  if (place.kind() != Kind::list) {
    read_hook(reader, place, out);
    return out;
  }
  for (std::size_t i = 0; i < place.value().items.size(); ++i) {
    read_hook(reader, place.entry(i), out);
  }
  return out;
}

std::vector<PolicyState> policy_states(const HookReference& hook) {
  std::vector<PolicyState> out;
  if (hook.name != kPolicy) return out;
  for (const auto& [argument, usual] : kPolicyStates) {
    const Dynamic* given = hook.arguments.if_contains(argument);
    if (given != nullptr && given->is_string()) {
      out.push_back({argument, std::string(given->as_string())});
    } else if (!usual.empty()) {
      out.push_back({argument, std::string(usual)});
    }
  }
  return out;
}

}  // namespace treaty::machines
