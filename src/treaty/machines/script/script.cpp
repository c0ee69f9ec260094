#include "treaty/machines/script/script.h"

#include <fmt/format.h>

#include "treaty/base/json_dynamic.h"
#include "treaty/base/yaml.h"
#include "treaty/machines/run/agent_values.h"

namespace treaty::machines {
namespace {

using Lists = std::map<std::string, List, std::less<>>;

std::expected<Lists, std::string> lists_in(const Object& object, std::string_view what) {
  Lists lists;
  for (const auto& member : object) {
    const auto* list = member.value().if_array();
    if (list == nullptr) {
      return std::unexpected(
          fmt::format("'{}' of `{}` must be a list", std::string_view(member.key()), what));
    }
    lists.emplace(member.key(), *list);
  }
  return lists;
}

std::expected<Object, std::string> root_of(std::string_view text) {
  const json::Document document(text);
  if (const auto root = document.root(); root && document.faults().empty()) {
    if (!root->is_object()) return std::unexpected("it is not a mapping");
    return json::to_dynamic_object(*root);
  }
  const auto node = yaml::read(text);
  if (!node)
    return std::unexpected(fmt::format("{} ({})", node.error().message, node.error().where));
  const std::string as_json = yaml::to_json(*node);
  const json::Document converted(as_json);
  const auto root = converted.root();
  if (!root || !root->is_object()) return std::unexpected("it is not a mapping");
  return json::to_dynamic_object(*root);
}

std::expected<Crash, std::string> crash_of(const Object& object) {
  Crash crash{.event = text_of(object, "at")};
  const auto step = object.find("step");
  if (crash.event.empty() || step == object.end() || !step->value().is_int64()) {
    return std::unexpected("`crash` needs `at`, an event, and `step`, a number");
  }
  crash.step = step->value().get_int64();
  return crash;
}

}  // namespace

std::expected<Script, std::string> read_script(std::string_view text) {
  auto root = root_of(text);
  if (!root) return std::unexpected(std::move(root.error()));
  Script script;
  for (const auto& member : *root) {
    const std::string name(member.key());
    if (member.value().is_null()) continue;
    const auto* object = member.value().if_object();
    if (object == nullptr) return std::unexpected(fmt::format("`{}` must be a mapping", name));
    if (name == "agents" || name == "tools" || name == "signals") {
      auto lists = lists_in(*object, name);
      if (!lists) return std::unexpected(std::move(lists.error()));
      (name == "agents"  ? script.agents
       : name == "tools" ? script.tools
                         : script.signals) = std::move(*lists);
    } else if (name == "hooks") {
      for (const auto& hook : *object) {
        const auto* events = hook.value().if_object();
        if (events == nullptr) return std::unexpected("each of `hooks` must be a mapping");
        auto lists = lists_in(*events, std::string_view(hook.key()));
        if (!lists) return std::unexpected(std::move(lists.error()));
        script.hooks.emplace(hook.key(), std::move(*lists));
      }
    } else if (name == "crash") {
      auto crash = crash_of(*object);
      if (!crash) return std::unexpected(std::move(crash.error()));
      script.crash = std::move(*crash);
    } else {
      return std::unexpected(fmt::format(
          "`{}` is not known; there are agents, hooks, tools, signals and crash", name));
    }
  }
  return script;
}

}  // namespace treaty::machines
