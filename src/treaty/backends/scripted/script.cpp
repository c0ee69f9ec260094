#include "treaty/backends/scripted/script.h"

#include <fmt/format.h>

#include <array>

#include "treaty/backends/scripted/script_reader.h"

namespace treaty::backends {
namespace {

using yaml::Node;

template <auto Member>
void take_pattern(ScriptReader& reader, const Node& node, Condition& when) {
  when.*Member = reader.text(node);
}
template <auto Member>
void take_flag(ScriptReader& reader, const Node& node, Condition& when) {
  when.*Member = reader.boolean(node);
}

void take_parts(ScriptReader& reader, const Node& node, Condition& when) {
  if (node.kind != yaml::Kind::list) {
    if (auto text = reader.text(node)) when.user_contains = {std::move(*text)};
    return;
  }
  if (node.items.empty()) reader.note(node, "the list is empty; leave it out");
  for (const Node& item : node.items) {
    if (auto text = reader.text(item)) when.user_contains.push_back(std::move(*text));
  }
}

constexpr std::array<ScriptMember<Condition>, 9> kConditionMembers = {{
    {"user_contains", take_parts},
    {"user", take_pattern<&Condition::user>},
    {"model", take_pattern<&Condition::model>},
    {"path", take_pattern<&Condition::path>},
    {"call", [](ScriptReader& reader, const Node& node,
                Condition& when) { when.call = reader.integer(node, 1); }},
    {"stream", take_flag<&Condition::stream>},
    {"file", take_flag<&Condition::file>},
    {"tools", take_flag<&Condition::tools>},
    {"tool_results", take_flag<&Condition::tool_results>},
}};

void take_rules(ScriptReader& reader, const Node& node, Script& script) {
  if (!reader.is_list(node, "rules")) return;
  for (const Node& item : node.items) {
    Rule rule{.reply = read_reply(reader, item)};
    const Node* when = item.kind == yaml::Kind::map ? item.find("when") : nullptr;
    if (when != nullptr) {
      reader.members<Condition>(*when, "when", kConditionMembers, rule.when);
    } else if (item.kind == yaml::Kind::map) {
      reader.note(item, "a rule needs `when`; what always answers stands under `replies`");
    }
    if (item.find("times") != nullptr) rule.times = rule.reply.times;
    script.rules.push_back(std::move(rule));
  }
}

void take_replies(ScriptReader& reader, const Node& node, Script& script) {
  if (!reader.is_list(node, "replies")) return;
  if (node.items.empty()) reader.note(node, "the list of replies is empty; leave it out");
  for (const Node& item : node.items) {
    if (item.kind == yaml::Kind::map && item.find("when") != nullptr) {
      reader.note(*item.find("when"), "only rules have `when`; move this reply to `rules`");
    }
    script.replies.push_back(read_reply(reader, item));
  }
}

void take_models(ScriptReader& reader, const Node& node, Script& script) {
  if (!reader.is_list(node, "models")) return;
  for (const Node& item : node.items) {
    if (auto name = reader.text(item)) script.models.push_back(std::move(*name));
  }
}

constexpr std::array<ScriptMember<Script>, 7> kScriptMembers = {{
    {"replies", take_replies},
    {"rules", take_rules},
    {"loop", [](ScriptReader& reader, const Node& node,
                Script& script) { script.loop = reader.boolean(node).value_or(false); }},
    {"key", [](ScriptReader& reader, const Node& node,
               Script& script) { script.key = reader.text(node); }},
    {"models", take_models},
    {"headers", [](ScriptReader& reader, const Node& node,
                   Script& script) { read_headers(reader, node, script.headers); }},
    {"version",
     [](ScriptReader& reader, const Node& node, Script& /*script*/) {
       if (node.text != "1") reader.note(node, "this program reads scripts of version 1");
     }},
}};

}  // namespace

std::expected<Script, std::vector<Diagnostic>> read_script(std::string_view text) {
  const auto root = yaml::read(text);
  if (!root) return std::unexpected(std::vector{diagnostic_of(root.error())});
  Script script;
  ScriptReader reader;
  if (root->kind == yaml::Kind::list) {
    take_replies(reader, *root, script);
  } else {
    reader.members<Script>(*root, "a script", kScriptMembers, script);
  }
  auto problems = reader.take_problems();
  if (problems.empty() && script.is_empty() && script.headers.empty() && !script.key &&
      script.models.empty()) {
    problems.push_back({.line = root->line,
                        .column = root->column,
                        .message = "the script is empty; give it `replies`"});
  }
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return script;
}

}  // namespace treaty::backends
