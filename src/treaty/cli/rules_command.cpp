#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "treaty/base/json_write.h"
#include "treaty/base/text.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/contract_words.h"
#include "treaty/cli/terminal.h"
#include "treaty/contracts/rule_examples.h"
#include "treaty/contracts/rules.h"
#include "treaty/machines/rules.h"

namespace treaty::cli::rules {
namespace {

using contracts::Effect;
using contracts::Rule;
using contracts::RuleExample;

std::string_view name_of(Effect effect) {
  switch (effect) {
    case Effect::refuses: return "refuses";
    case Effect::warns: return "warns";
    case Effect::tells: return "tells the kind";
    case Effect::delegates: return "reported by the inner rule";
  }
  return "";
}

// A rule by its id, or all of a contract ("response") or a family ("RES").
std::vector<const Rule*> select(const std::string& what) {
  std::vector<const Rule*> rules;
  const auto look_through = [&](std::span<const Rule> ledger) {
    for (const Rule& rule : ledger) {
      const bool family = equal_folded(rule.id.substr(0, rule.id.find('-')), what);
      if (what.empty() || equal_folded(rule.id, what) || rule.contract() == what || family) {
        rules.push_back(&rule);
      }
    }
  };
  look_through(contracts::rules());
  look_through(machines::kRules);
  return rules;
}

std::optional<RuleExample> machine_example_of(std::string_view rule) {
  for (machines::MachineRuleExample& example : machines::rule_examples()) {
    if (example.rule != rule) continue;
    return RuleExample{.rule = std::string(rule),
                       .contract = "machine",
                       .passes = std::move(example.passes),
                       .fails = std::move(example.fails)};
  }
  return std::nullopt;
}

std::string command_line_of(const RuleExample& example) {
  if (example.contract == "machine") return "treaty machine check FILE";
  if (example.contract == "continuation") return "treaty check continuation PENDING SUBMITTED";
  std::string line = "treaty check " + example.contract + " FILE";
  if (example.options.profile == contracts::Profile::lenient) line += " --profile lenient";
  if (example.options.role == contracts::Role::consumer) line += " --role consumer";
  if (example.options.inner == contracts::Inner::json) line += " --inner json";
  if (!example.request.empty()) line += " --request REQUEST";
  return line;
}

void print_rule(const Rule& rule, bool colors) {
  print("{}  {} ({})\n\n  {}\n\n  Source: {}\n", painted(rule.id, Color::bold, colors),
        rule.contract(), name_of(rule.effect), rule.sentence, rule.source);
  auto example = contracts::example_of(rule.id);
  if (!example) example = machine_example_of(rule.id);
  if (!example) return;
  print("  Checked by: {}\n", command_line_of(*example));
  if (!example->pending.empty()) print("\n  Pending:\n    {}\n", example->pending);
  if (!example->request.empty()) print("\n  The request:\n    {}\n", example->request);
  print("\n  {}\n    {}\n", painted("Passes:", Color::green, colors), harmless(example->passes));
  print("\n  {}\n    {}\n", painted("Does not:", Color::red, colors), harmless(example->fails));
}

void print_json(const Rule& rule, const std::optional<RuleExample>& example) {
  json::Writer writer;
  writer.begin_object();
  writer.member("id", rule.id).member("contract", rule.contract());
  writer.member("effect", name_of(rule.effect));
  writer.member("rule", rule.sentence).member("source", rule.source);
  if (example) {
    writer.member("checked_by", command_line_of(*example));
    if (!example->pending.empty()) writer.member("pending", example->pending);
    if (!example->request.empty()) writer.member("request", example->request);
    writer.member("passes", example->passes).member("fails", example->fails);
  }
  print("{}\n", writer.end_object().take());
}

// A table for the reference.
void print_markdown(const std::vector<const Rule*>& rules) {
  print("| rule | says | source |\n|---|---|---|\n");
  for (const Rule* rule : rules) {
    std::string sentence(rule->sentence);
    for (std::size_t at = 0; (at = sentence.find('|', at)) != std::string::npos; at += 2) {
      sentence.insert(at, "\\");
    }
    print("| {} | {} | {} |\n", rule->id, sentence, rule->source);
  }
}

Result<int> run(const Arguments& arguments) {
  if (arguments.positionals.size() > 1) return misused("one rule or contract at a time");
  const std::string what = arguments.positionals.empty() ? "" : arguments.positionals[0];
  const std::vector<const Rule*> rules = select(what);
  if (rules.empty()) {
    return misused(fmt::format("there is no rule or contract \"{}\"", what));
  }
  const std::string format = arguments.get("--format");
  if (format == "markdown") {
    print_markdown(rules);
  } else if (format == "jsonl") {
    const std::vector<RuleExample> examples = contracts::rule_examples();
    for (const Rule* rule : rules) {
      const auto found = std::ranges::find(examples, rule->id, &RuleExample::rule);
      print_json(*rule,
                 found == examples.end() ? machine_example_of(rule->id) : std::optional(*found));
    }
  } else if (rules.size() == 1) {
    print_rule(*rules[0], stdout_has_colors());
  } else {
    const bool colors = stdout_has_colors();
    for (const Rule* rule : rules) {
      print("{}  {}\n", painted(fmt::format("{:8}", rule->id), Color::bold, colors),
            rule->sentence);
    }
  }
  return kOk;
}

}  // namespace

Command command() {
  return {
      .name = "rules",
      .positionals = "[ID|CONTRACT]",
      .summary = "Tell what a rule says, where it comes from, and what keeps and breaks it",
      .description = R"(Without an argument: every rule in one line. With an id such as RES-12: the
rule with examples. With a contract or a family (response, RES): its rules; `machine`: those
of machine files.)",
      .options = {{"--format", "", "How to print", {"human", "jsonl", "markdown"}}},
      .examples = {{"rules RES-12",
                    "One rule, with a document that keeps it and one that does not"},
                   {"rules bridge-response", "The rules of one contract"},
                   {"rules --format jsonl", "All rules, one JSON object each, for an index"}},
      .words = contract_words({"machine"}),
      .run = run,
  };
}

}  // namespace treaty::cli::rules
