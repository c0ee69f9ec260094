#include "treaty/config/show.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

#include <set>

#include "treaty/base/text.h"
#include "treaty/config/reader.h"
#include "treaty/testing/configurations.h"

namespace treaty::config {
namespace {

using testing::Given;
using testing::loaded;

constexpr std::string_view kEverything = R"(
listen: "[::1]:9000"
store: sqlite:turns.db
workers: 2
keys: [{tenant: acme, sha256: cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc}]
providers:
  main:
    kind: openai
    key: hunter2
    base_url: 'http://127.0.0.1:1/v1'
    timeout: 90s
    dispatch: {max_wait: 0s, backoff: 250ms, breaker_failures: 0}
  own: {kind: custom, base_url: 'http://127.0.0.1:2/v1', protocol: responses, ca_file: own.pem}
  other: {kind: anthropic, key_env: OTHER_KEY}
agents:
  default:
    description: Knows things.
    mode: "General: all"
    system: "You cost 5$$.\n  Be brief.\n\nAlways: \"yes\""
    backends:
      - provider: main
        model: gpt-5
        context_window: 9000
        max_output_tokens: 5
        temperature: 0.5
        reasoning: {effort: low}
        cache: off
      - script: play.yaml
        preference: 7
        weight: 3
        on: [timeout, context_length]
        dispatch:
          max_wait: 90s
          max_attempts: 9
          backoff: [1s, 1.5s, 0s]
          jitter: 0.25
          max_concurrent: 8
          breaker_failures: 6
          breaker_open: 1ms
          connect: 1s
          first_token: 2s
          stall: 3s
      - {provider: other, model: claude-opus-4-5, reasoning: {effort: high, budget_tokens: 2000}}
      - {scripted: demo}
      - {bridge: {dir: room, agent_name: "the writer", timeout: 90s}}
      - {machine: m.yml}
    max_rounds: 3
    deadline: 20s
    on_disconnect: cancel
    tools:
      - {name: look, run: client, description: "- looks", parameters: {type: object, properties: {a: {pattern: '^a$', minimum: 0.5, default: null, enum: ["1", true]}}}}
    conversations:
      "a/b": {mode: Other, system: Be other., tools: []}
      "c": {system_file: play.yaml}
    on_mismatch: fail_turn
    on_cut: continue
    show_thinking: true
    dispatch: {max_attempts: 2, jitter: 0}
    budget: {tokens_per_day: 1000000, dollars_per_day: 999999.000000000001}
  "yes": {system_file: play.yaml, backends: [{scripted: demo}]}
tenants:
  acme: {budget: {dollars_per_day: 2.50}}
  local: {budget: {tokens_per_day: 5}}
machines: {allow_addresses: [10.1.0.0/16, "::1"]}
sessions: {open: explicit, initial: true}
turns: {tool_deadline: 1h, max_running: 7, deadline: 70s}
http:
  always_200: true
  max_body: 1500
  body_memory: 30MiB
  max_header: 2KiB
  max_connections: 9
  header_timeout: 1s
  body_timeout: 2s
  idle_timeout: 3s
  shutdown_timeout: 4s
prices: prices.yaml
)";

const Given& everything() {
  static const Given given{
      .yaml = std::string(kEverything),
      .environment = {{"OTHER_KEY", "hunter2"}},
      .files = {
          {"/work/play.yaml", "- Hello."},
          {"/work/own.pem", "PEM"},
          {"/work/m.yml",
           "{spec: flatmachine, spec_version: '4.0', data: {states: {s: {type: final}}}}"},
          {"/work/prices.yaml",
           "prices: [{provider: openai, models: [gpt-5], from: 2025-01-01, input: 1, output: 1}, "
           "{provider: anthropic, models: [claude-opus-4-5], from: 2025-01-01, input: 1, "
           "output: 1}]"}}};
  return given;
}

// Every way through the maps and lists of a tree, as known_keys() writes them: what users name is
// NAME, and the schema of a tool is a value.
void add_ways(const yaml::Node& node, const std::string& way, std::set<std::string>& ways) {
  if (!way.empty()) ways.insert(way);
  if (way.ends_with(".parameters")) return;
  const bool names =
      way == "providers" || way == "agents" || way == "tenants" || way.ends_with(".conversations");
  for (const auto& [key, value] : node.members) {
    add_ways(value, (way.empty() ? "" : way + ".") + (names ? "NAME" : key.text), ways);
  }
  for (const yaml::Node& item : node.items) add_ways(item, way + "[]", ways);
}

std::set<std::string> ways_of(const yaml::Node& tree) {
  std::set<std::string> ways;
  add_ways(tree, "", ways);
  return ways;
}

TEST_CASE("Every key that is read is shown") {
  // What is written in another way than it was read: the key is masked, the text is the file's, and
  // every entry of a chain has the whole policy that holds for it.
  const std::set<std::string> others = {"providers.NAME.key_env", "agents.NAME.system_file",
                                        "agents.NAME.conversations.NAME.system_file",
                                        "agents.NAME.dispatch"};
  const auto written = yaml::read(everything().yaml);
  REQUIRE(written);
  const std::set<std::string> given = ways_of(*written);
  const std::set<std::string> told = ways_of(shown(loaded(everything())));

  for (const std::string& key : known_keys()) {
    CAPTURE(key);
    CHECK_MESSAGE(given.contains(key), "the configuration of this test lacks the key");
    CHECK(told.contains(key) != others.contains(key));
  }
}

TEST_CASE("What has a default is shown when nothing is written") {
  const std::set<std::string> told = ways_of(shown(loaded({})));

  for (const std::string& key : known_keys()) {
    const bool is_in_list = key.contains('[') || key.contains("NAME");
    CAPTURE(key);
    CHECK((is_in_list || told.contains(key)));
  }
  for (const char* key : {"agents.NAME.description", "agents.NAME.conversations",
                          "agents.NAME.system", "agents.NAME.deadline"}) {
    CAPTURE(key);
    CHECK(told.contains(key));
  }
}

TEST_CASE("What is shown reads back as the same configuration") {
  const std::string once = yaml_of(shown(loaded(everything())));

  Given again = everything();
  again.yaml = once;
  CAPTURE(once);
  const Configuration second = loaded(again);

  CHECK(yaml_of(shown(second)) == once);
  CHECK(second.listen == Listen{"::1", 9000});
  CHECK(second.store == "sqlite:///work/turns.db");
  const turns::Agent& agent = second.turns.agents.at("default");
  CHECK(agent.role.system == "You cost 5$.\n  Be brief.\n\nAlways: \"yes\"");
  CHECK(agent.role.tools[0].declaration.parameters_json ==
        loaded(everything()).turns.agents.at("default").role.tools[0].declaration.parameters_json);
  CHECK(second.turns.agents.contains("yes"));
  CHECK(agent.on_cut == turns::OnCut::go_on);
  CHECK(agent.budget == loaded(everything()).turns.agents.at("default").budget);
  CHECK(agent.budget.picodollars == 999'999'000'000'000'001);
  CHECK(second.turns.tenant_budgets == loaded(everything()).turns.tenant_budgets);
}

rc::Gen<dispatch::Seconds> seconds_from(int least_milliseconds) {
  return rc::gen::map(rc::gen::inRange(least_milliseconds, 86'400'001),
                      [](int milliseconds) { return milliseconds / 1'000.0; });
}

template <class T>
rc::Gen<std::optional<T>> perhaps(rc::Gen<T> value) {
  return rc::gen::exec([value = std::move(value)] {
    return *rc::gen::arbitrary<bool>() ? std::optional<T>(*value) : std::nullopt;
  });
}

rc::Gen<dispatch::Policy> any_policy() {
  return rc::gen::exec([] {
    const auto count = *rc::gen::inRange<std::size_t>(1, 21);
    return dispatch::Policy{
        .max_wait = *perhaps(seconds_from(0)),
        .max_attempts = *perhaps(rc::gen::inRange(1, 101)),
        .backoff = *perhaps(rc::gen::container<dispatch::Backoffs>(count, seconds_from(0))),
        .jitter = *rc::gen::inRange(0, 1'001) / 1'000.0,
        .max_concurrent = *rc::gen::inRange(0, 100'001),
        .breaker_failures = *rc::gen::inRange(0, 1'001),
        .breaker_open = *seconds_from(1),
        .connect = *perhaps(seconds_from(1)),
        .first_token = *perhaps(seconds_from(1)),
        .stall = *perhaps(seconds_from(1))};
  });
}

TEST_CASE("Any policy, chain and budget reads back as it is shown") {
  const Configuration all = loaded(everything());
  const bool holds = rc::check([&] {
    Configuration configuration = all;
    turns::Agent& agent = configuration.turns.agents.at("default");
    for (dispatch::Choice& choice : agent.chain) {
      choice.preference = *rc::gen::inRange(1, 1'001);
      choice.weight = *rc::gen::inRange(1, 1'001);
      choice.policy = *any_policy();
    }
    agent.chain.back().on = *rc::gen::elementOf(
        std::vector<std::vector<std::string>>{{}, {"timeout"}, {"rate_limit", "context_length"}});
    agent.budget.tokens = *rc::gen::inRange<std::int64_t>(1, 1'000'000'000'000'001);
    agent.budget.picodollars = *rc::gen::inRange<std::int64_t>(1, 1'000'000'000'000'000'001);
    configuration.turns.tenant_budgets["acme"] = agent.budget;

    Given again = everything();
    again.yaml = yaml_of(shown(configuration));
    const auto second = load(again.sources());

    RC_ASSERT(second.has_value());
    RC_ASSERT(yaml_of(shown(*second)) == again.yaml);
    RC_ASSERT(second->turns.agents.at("default").budget == agent.budget);
    RC_ASSERT(second->turns.tenant_budgets == configuration.turns.tenant_budgets);
  });
  CHECK(holds);
}

TEST_CASE("Secrets are masked") {
  const Configuration configuration = loaded(everything());

  const std::string yaml = yaml_of(shown(configuration));
  const std::string json = yaml::to_json(shown(configuration));

  CHECK(!yaml.contains("hunter2"));
  CHECK(!json.contains("hunter2"));
  CHECK(json.contains(R"("key":"***")"));
}

TEST_CASE("The defaults are written out") {
  const std::string yaml = yaml_of(shown(loaded({})));

  for (const char* line :
       {"listen: \"127.0.0.1:8088\"", "tool_deadline: \"24h\"", "max_body: \"16MiB\"",
        "open: implicit", "- scripted: demo", "max_rounds: 8", "on_disconnect: continue",
        "on_cut: fail", "max_wait: \"1m\"", "max_attempts: 5", "- \"35s\"", "jitter: 0.1",
        "max_concurrent: 0", "breaker_failures: 5", "breaker_open: \"30s\"", "preference: 1",
        "weight: 1", "tenants: {}"}) {
    CAPTURE(line);
    CHECK(yaml.contains(line));
  }
}

// "max_wait max_attempts first_token" of each entry of the agent `default`.
std::vector<std::string> patience_of(std::string_view backends) {
  const Given given{.yaml = fmt::format(R"(
providers:
  one: {{kind: openai, key: k}}
  same: {{kind: openai, key: k}}
  two: {{kind: openai, key: other}}
agents: {{default: {{backends: {}}}}}
)",
                                        backends)};
  const yaml::Node tree = shown(loaded(given));
  std::vector<std::string> lines;
  for (const yaml::Node& entry : tree.find("agents")->find("default")->find("backends")->items) {
    const yaml::Node& policy = *entry.find("dispatch");
    lines.push_back(fmt::format("{} {} {}", policy.find("max_wait")->text,
                                policy.find("max_attempts")->text,
                                policy.find("first_token")->text));
  }
  return lines;
}

TEST_CASE("Entries of the same backend are not left for one another") {
  const std::string hasty = "10s 2 10s";
  const std::string patient = "1m 5 1m";
  using Lines = std::vector<std::string>;

  CHECK(patience_of("[{provider: one, model: m}, {provider: two, model: m}]") ==
        Lines{hasty, patient});
  CHECK(patience_of("[{provider: one, model: m}, {provider: same, model: m}]") ==
        Lines{patient, patient});
  CHECK(patience_of("[{provider: one, model: m}, {provider: one, model: n}]") ==
        Lines{hasty, patient});
  CHECK(patience_of("[{provider: one, model: m}, {provider: two, model: m}, "
                    "{provider: one, model: m}]") == Lines{hasty, patient, patient});
}

TEST_CASE("Any text reads back from the YAML that is written") {
  const bool holds = rc::check([] {
    auto text = *rc::gen::container<std::string>(
        rc::gen::elementOf(std::string("ab$ \n\t'\":#-|>[]{}&*!%@`,?\\0~.")));
    const yaml::Node tree{.kind = yaml::Kind::map,
                          .members = {{{.kind = yaml::Kind::string, .text = "key"},
                                       {.kind = yaml::Kind::string, .text = text}}}};
    const auto read = yaml::read(yaml_of(tree));
    RC_ASSERT(read.has_value());
    const yaml::Node* found = read->find("key");
    RC_ASSERT(found != nullptr);
    RC_ASSERT(found->kind == yaml::Kind::string);
    const auto expanded = expand(found->text, [](auto) { return std::nullopt; });
    RC_ASSERT(expanded.value_or("a fault") == text);
  });
  CHECK(holds);
}

using Changes = std::vector<std::string>;

Configuration usual() {
  Configuration configuration;
  configuration.turns.agents["default"].role.system = "You are brief.";
  configuration.turns.agents["reviewer"].chain = {{.backend = "main", .model = "m"},
                                                  {.backend = "play"},
                                                  {.backend = "files"},
                                                  {.backend = "flow"}};
  configuration.backends["main"] = HttpProvider{.kind = "openai", .key = "secret-1"};
  configuration.backends["play"] = ScriptFile{.path = "/play.yaml", .text = "- One."};
  configuration.backends["files"] = BridgeDirectory{.path = "/in", .agent_name = "reviewer"};
  configuration.backends["flow"] = MachineFile{.path = "/flow.yml", .sha256 = "1"};
  configuration.keys = {{"acme", "a"}};
  return configuration;
}

Changes changes_after(const auto& edit) {
  Configuration after = usual();
  edit(after);
  return changes_between(usual(), after);
}

template <class Kind>
Kind& settings(Configuration& configuration, std::string_view name) {
  return std::get<Kind>(configuration.backends.find(name)->second);
}

}  // namespace

TEST_CASE("the same configuration has no changes") {
  CHECK(changes_after([](Configuration&) {}).empty());
}

TEST_CASE("a changed value is told with its path, and without the value") {
  CHECK(changes_after([](auto& after) { after.turns.agents["default"].role.system = "x"; }) ==
        Changes{"agents.default.system: changed"});
  CHECK(changes_after([](auto& after) { after.turns.agents["default"].max_rounds = 2; }) ==
        Changes{"agents.default.max_rounds: changed"});
  CHECK(changes_after([](auto& after) { after.turns.agents["reviewer"].chain[0].model = "n"; }) ==
        Changes{"agents.reviewer.backends[0].model: changed"});
  CHECK(changes_after([](auto& after) { after.http.max_connections = 1; }) ==
        Changes{"http.max_connections: changed"});
}

TEST_CASE("what came and what went is named") {
  CHECK(changes_after([](auto& after) { after.turns.agents.erase("reviewer"); }) ==
        Changes{"agents.reviewer: removed"});
  CHECK(changes_after([](auto& after) {
          after.backends["fast"] = HttpProvider{.kind = "cerebras"};
        }) == Changes{"providers.fast: added"});
  CHECK(changes_after([](auto& after) {
          after.turns.agents["default"].role.tools.push_back({.declaration = {.name = "look"}});
        }) == Changes{"agents.default.tools[0]: added"});
}

TEST_CASE("a secret that differs is told by its path alone") {
  const Changes changes = changes_after([](auto& after) {
    settings<HttpProvider>(after, "main").key = "secret-2";
    after.keys[0].sha256 = "b";
  });

  CHECK(changes == Changes{"keys[0].sha256: changed", "providers.main.key: changed"});
}

TEST_CASE("what cannot change while it runs says so") {
  CHECK(changes_after([](auto& after) { after.listen.port = 1; }) ==
        Changes{"listen: changed (needs a restart)"});
  CHECK(changes_after([](auto& after) { after.workers = 9; }) ==
        Changes{"workers: changed (needs a restart)"});
}

TEST_CASE("tenants and budgets that differ are told") {
  CHECK(changes_after([](auto& after) { after.turns.tenant_budgets["acme"].tokens = 5; }) ==
        Changes{"tenants.acme: added"});
  CHECK(changes_after([](auto& after) { after.turns.agents["default"].budget.tokens = 5; }) ==
        Changes{"agents.default.budget: added"});
}

TEST_CASE("on_cut, the settings of a bridge and of providers are told") {
  CHECK(changes_after([](auto& after) {
          after.turns.agents["default"].on_cut = turns::OnCut::go_on;
        }) == Changes{"agents.default.on_cut: changed"});
  CHECK(changes_after([](auto& after) {
          settings<BridgeDirectory>(after, "files").path = "/out";
        }) == Changes{"agents.reviewer.backends[2].bridge.dir: changed"});
  CHECK(changes_after([](auto& after) {
          settings<HttpProvider>(after, "main").dispatch.max_attempts = 2;
        }) == Changes{"providers.main.dispatch.max_attempts: added"});
}

TEST_CASE("a file that holds something else is told, though its name is the same") {
  CHECK(changes_after([](auto& after) { settings<ScriptFile>(after, "play").text = "- Two."; }) ==
        Changes{"agents.reviewer.backends[1].script (content): changed"});
  CHECK(changes_after([](auto& after) { settings<MachineFile>(after, "flow").sha256 = "2"; }) ==
        Changes{"agents.reviewer.backends[3].machine (content): changed"});
  CHECK(changes_after([](auto& after) { after.prices_text = "x"; }) ==
        Changes{"prices (content): changed"});
}

}  // namespace treaty::config
