#include "treaty/config/show.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "treaty/base/text.h"
#include "treaty/testing/configurations.h"

namespace treaty::config {
namespace {

using testing::Given;

const Given& everything() {
  static const Given given{
      .yaml = R"(
listen: "[::1]:9000"
store: sqlite:turns.db
keys: [{tenant: acme, sha256: )" +
              std::string(64, 'c') + R"(}]
providers:
  main: {kind: openai, key: hunter2, base_url: 'http://127.0.0.1:1/v1', timeout: 90s}
  own: {kind: custom, base_url: 'http://127.0.0.1:2/v1', protocol: responses}
agents:
  default:
    mode: "General: all"
    system: "You cost 5$$.\n  Be brief.\n\nAlways: \"yes\""
    backends: [{provider: main, temperature: 0.5}, {script: play.yaml}, {scripted: demo}]
    tools:
      - {name: look, description: "- looks", parameters: {type: object, properties: {a: {pattern: '^a$', minimum: 0.5, default: null, enum: ["1", true]}}}}
    conversations: {"a/b": {mode: Other}}
    on_mismatch: fail_turn
  "yes": {backends: [{scripted: demo}]}
http: {always_200: true, max_body: 1500}
prices: prices.yaml
)",
      .files = {{"/work/play.yaml", "- Hello."}, {"/work/prices.yaml", "prices: []"}}};
  return given;
}

Configuration loaded(const Given& given) {
  auto configuration = load(given.sources());
  CAPTURE(testing::problems_of(given));
  REQUIRE(configuration);
  return *std::move(configuration);
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
  CHECK(agent.chain == loaded(everything()).turns.agents.at("default").chain);
  CHECK(second.turns.agents.contains("yes"));
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
        "open: implicit", "- scripted: demo", "max_rounds: 8", "on_disconnect: continue"}) {
    CAPTURE(line);
    CHECK(yaml.contains(line));
  }
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
    RC_ASSERT(found != nullptr && found->kind == yaml::Kind::string);
    const auto expanded = expand(found->text, [](auto) { return std::nullopt; });
    RC_ASSERT(expanded.value_or("a fault") == text);
  });
  CHECK(holds);
}

}  // namespace
}  // namespace treaty::config
