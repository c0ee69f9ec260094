#include <doctest/doctest.h>

#include "treaty/testing/configurations.h"

namespace treaty::config {
namespace {

using testing::Given;
using testing::loaded;
using testing::problems_of;

// An agent `default` on the demo, with these members beside it.
Given with_agent(const std::string& members) {
  return {.yaml = "agents:\n  default:\n    backends: [{scripted: demo}]\n" + members};
}

TEST_CASE("Every key of an agent has its place") {
  Given given{.yaml =
                  "providers: {main: {kind: openai, key: k}}\n"
                  "agents:\n"
                  "  default:\n"
                  "    description: Knows things.\n"
                  "    mode: Expert\n"
                  "    system: You are ${ROLE:-wise}.\n"
                  "    backends:\n"
                  "      - {provider: main, model: gpt-4o, context_window: 9000,\n"
                  "         max_output_tokens: 100, temperature: 0.5}\n"
                  "      - {provider: main}\n"
                  "      - {script: play.yaml}\n"
                  "      - {scripted: demo, model: actor}\n"
                  "    max_rounds: 3\n"
                  "    deadline: 10s\n"
                  "    on_mismatch: fail_turn\n"
                  "    on_disconnect: cancel\n"
                  "    on_cut: continue\n",
              .files = {{"/work/play.yaml", "- Hello."}}};

  const Configuration configuration = loaded(given);
  const turns::Agent& agent = configuration.turns.agents.at("default");

  CHECK(agent.name == "default");
  CHECK(agent.description == "Knows things.");
  CHECK(agent.role.mode == "Expert");
  CHECK(agent.role.system == "You are wise.");
  CHECK(agent.max_rounds == 3);
  CHECK(agent.deadline == std::chrono::seconds(10));
  CHECK(agent.on_mismatch == turns::OnMismatch::fail_turn);
  CHECK(agent.on_disconnect == turns::OnDisconnect::cancel);
  CHECK(agent.on_cut == turns::OnCut::go_on);
  REQUIRE(agent.chain.size() == 4);
  CHECK(agent.chain[0] == dispatch::Choice{.backend = "main",
                                           .model = "gpt-4o",
                                           .context_window = 9'000,
                                           .max_output_tokens = 100,
                                           .temperature = 0.5,
                                           .preference = 1});
  CHECK(agent.chain[1] ==
        dispatch::Choice{.backend = "main", .model = "gpt-5-mini", .preference = 2});
  CHECK(agent.chain[2].backend == "script:play.yaml");
  CHECK(agent.chain[3].model == "actor");
  CHECK(configuration.find_backend<ScriptFile>("script:play.yaml")->text == "- Hello.");
}

TEST_CASE("The name of a backend has no path, and each file has a name of its own") {
  const Configuration configuration =
      loaded({.yaml = "agents:\n  writer:\n    backends:\n      - {script: one/play.yaml}\n"
                      "      - {script: two/play.yaml}\n      - {script: one/play.yaml}\n"
                      "      - {bridge: {dir: one/room/}}\n      - {bridge: {dir: two/room}}\n",
              .files = {{"/work/one/play.yaml", "- One."}, {"/work/two/play.yaml", "- Two."}}});

  std::vector<std::string> names;
  for (const auto& choice : configuration.turns.agents.at("writer").chain) {
    names.push_back(choice.backend);
  }
  CHECK(names == std::vector<std::string>{"script:play.yaml", "script:play.yaml #2",
                                          "script:play.yaml", "bridge:room (writer, 2m)",
                                          "bridge:room (writer, 2m) #2"});
  CHECK(configuration.find_backend<ScriptFile>(names[0])->text == "- One.");
  CHECK(configuration.find_backend<ScriptFile>(names[1])->text == "- Two.");
}

TEST_CASE("A bridge is named by its directory, seen from the file, and asks for the agent itself") {
  const Configuration configuration = loaded(
      {.yaml = "agents:\n  writer:\n    backends:\n      - {bridge: {dir: room}}\n"
               "      - {bridge: {dir: /srv/room, agent_name: other, timeout: 90s}, model: m}\n"});

  const auto& chain = configuration.turns.agents.at("writer").chain;
  REQUIRE(chain.size() == 2);
  CHECK(chain[0].model.empty());
  CHECK(chain[1].model == "m");
  const BridgeDirectory& first = *configuration.find_backend<BridgeDirectory>(chain[0].backend);
  CHECK(first.path == "/work/room");
  CHECK(first.agent_name == "writer");
  CHECK(first.timeout == std::chrono::minutes(2));
  const BridgeDirectory& second = *configuration.find_backend<BridgeDirectory>(chain[1].backend);
  CHECK(second.path == "/srv/room");
  CHECK(second.agent_name == "other");
  CHECK(second.timeout == std::chrono::seconds(90));
}

TEST_CASE("A bridge without a directory, or with another key, is a problem at its place") {
  const auto bridge = [](std::string_view members) {
    return Given{.yaml = "agents:\n  a: {backends: [{bridge: " + std::string(members) + "}]}"};
  };

  CHECK(problems_of(bridge("{}")).contains("treaty.yaml:2:27: a bridge needs `dir`"));
  CHECK(problems_of(bridge("")).contains("a bridge needs `dir`"));
  CHECK(problems_of(bridge("room")).contains("treaty.yaml:2:27: "));
  CHECK(problems_of(bridge("{dir: ''}")).contains("treaty.yaml:2:33: "));
  CHECK(problems_of(bridge("{dir: a, timeout: 25h}")).contains("treaty.yaml:2:45: "));
  CHECK(problems_of(bridge("{dir: a, agent_nam: b}")).contains("did you mean agent_name?"));
  CHECK(problems_of(bridge("{dir: a}, scripted: demo")).contains("exactly one of"));
}

TEST_CASE("A conversation has what it says itself, and the rest from its agent") {
  Given given = with_agent(R"(
    mode: General
    system: Be brief.
    tools: [{name: look}]
    conversations:
      same:
      review: {mode: Review, system_file: review.md, tools: [{name: diff}]}
      plain: {tools: []}
)");
  given.files["/work/review.md"] = "Review it.\n";

  const auto conversations = loaded(given).turns.agents.at("default").conversations;

  CHECK(conversations.at("same").mode == "General");
  CHECK(conversations.at("same").system == "Be brief.");
  CHECK(conversations.at("same").tools[0].declaration.name == "look");
  CHECK(conversations.at("review").mode == "Review");
  CHECK(conversations.at("review").system == "Review it.");
  CHECK(conversations.at("review").tools[0].declaration.name == "diff");
  CHECK(conversations.at("plain").tools.empty());
}

TEST_CASE("turns.deadline is for the agents that have none of their own") {
  const Configuration configuration =
      loaded({.yaml = "turns: {deadline: 7s}\nagents:\n  default: {backends: [{scripted: demo}]}\n"
                      "  slow: {backends: [{scripted: demo}], deadline: 8s}"});

  CHECK(configuration.turns.agents.at("default").deadline == std::chrono::seconds(7));
  CHECK(configuration.turns.agents.at("slow").deadline == std::chrono::seconds(8));
}

TEST_CASE("An agent without backends asks whom an agent would that nobody has written") {
  for (const char* agent : {"a: {}", "a:", "a: {backends: }"}) {
    CAPTURE(agent);
    const std::string agents =
        "agents: {" + std::string(agent) + ", b: {backends: [{scripted: demo}]}}";

    const Configuration plain = loaded({.yaml = agents});
    const Configuration keyed = loaded({.yaml = agents, .environment = {{"GROQ_API_KEY", "g"}}});
    const Configuration named =
        loaded({.yaml = agents + "\nproviders: {own: {kind: openai, key: k}}",
                .environment = {{"GROQ_API_KEY", "g"}}});

    CHECK(plain.turns.agents.at("a").chain[0].backend == "scripted:demo");
    CHECK(plain.turns.agents.at("a").role.tools.empty());
    CHECK(plain.backends.contains("scripted:demo"));
    CHECK(plain.notes.at(0).starts_with("agent a: the built-in demo, since"));
    CHECK(keyed.turns.agents.at("a").chain[0].backend == "groq");
    CHECK(keyed.turns.agents.at("b").chain[0].backend == "scripted:demo");
    CHECK(keyed.notes.at(0).ends_with("of groq, since GROQ_API_KEY is set"));
    CHECK(named.turns.agents.at("a").chain[0] ==
          dispatch::Choice{.backend = "own", .model = "gpt-5-mini", .preference = 1});
    CHECK(named.notes.size() == 1);
  }
}

TEST_CASE("An agent that asks nobody is refused") {
  CHECK(problems_of({.yaml = "agents: {a: {backends: []}}"}) ==
        "treaty.yaml:1:24: the agent a asks nobody (leave `backends` out for the usual one)\n");
  CHECK(problems_of({.yaml = "agents: {a: }\nproviders: {own: {kind: ollama}}"}) ==
        "treaty.yaml:2:13: say which model of own (agents: {a: {backends: [{provider: own, model: "
        "NAME}]}})\n");
}

TEST_CASE("No agent has to be named default") {
  const Configuration configuration =
      loaded({.yaml = "agents:\n  other: {backends: [{scripted: demo}]}"});

  CHECK(configuration.turns.agents.size() == 1);
  CHECK(configuration.turns.agents.contains("other"));
}

TEST_CASE("A backend names exactly one thing that is there") {
  const auto backend = [](const std::string& members) {
    return Given{.yaml =
                     "providers: {main: {kind: openai, key: k}, own: {kind: custom, base_url: "
                     "'http://127.0.0.1:1/v1'}}\nagents: {default: {backends: [" +
                     members + "]}}"};
  };
  CHECK(problems_of(backend("{provider: man}")) ==
        "treaty.yaml:2:42: there is no provider man (did you mean main?)\n");
  CHECK(problems_of(backend("{provider: elsewhere}")) ==
        "treaty.yaml:2:42: there is no provider elsewhere (there are main, own)\n");
  CHECK(problems_of(backend("{provider: own}")) ==
        "treaty.yaml:2:31: say which model of own (add model: NAME)\n");
  CHECK(problems_of(backend("{}")).contains("a backend has exactly one of"));
  CHECK(problems_of(backend("{scripted: demo}, ~")).contains("a backend has exactly one of"));
  CHECK(problems_of(backend("{provider: main, scripted: demo}"))
            .contains("a backend has exactly one of"));
  CHECK(problems_of(backend("{scripted: show}")) == "treaty.yaml:2:42: expected demo\n");
  CHECK(problems_of(backend("main")) ==
        "treaty.yaml:2:31: expected a backend as a map, found a text\n");
  CHECK(problems_of(backend("{provider: main, temperature: 3}"))
            .contains("expected a number, 0 to 2"));
  CHECK(problems_of(backend("{provider: main, context_window: 0}"))
            .contains("expected a whole number, 1 to"));
  CHECK(problems_of(backend("{script: no.yaml}")).contains("the file cannot be read"));
}

TEST_CASE("A script that is not in order is told with its first problem") {
  Given given{.yaml = "agents: {default: {backends: [{script: play.yaml}]}}",
              .files = {{"/work/play.yaml", "- txt: Hello."}}};

  CHECK(problems_of(given).starts_with(
      "treaty.yaml:1:40: the script play.yaml is not in order: 1:3: a reply has no key txt"));
}

TEST_CASE("Paths are relative to the folder of the file") {
  Given given{.files = {{"conf/treaty.yaml",
                         "agents: {default: {system_file: ../s.txt, backends: "
                         "[{script: play.yaml}]}}"},
                        {"/work/s.txt", "System."},
                        {"/work/conf/play.yaml", "- Hello."}},
              .flags = {.config = "conf/treaty.yaml"}};

  CHECK(loaded(given).turns.agents.at("default").role.system == "System.");
}

TEST_CASE("Mistakes of an agent are told at their place") {
  CHECK(problems_of(with_agent("    mode: ' '")) ==
        "treaty.yaml:4:11: this is blank (write a text, or leave the key out)\n");
  CHECK(problems_of(with_agent("    system: a\n    system_file: b"))
            .contains("5:18: there are both `system` and `system_file`"));
  CHECK(problems_of(with_agent("    max_rounds: 0")).contains("expected a whole number, 1 to 99"));
  CHECK(problems_of(with_agent("    on_mismatch: drop")).contains("expected keep or fail_turn"));
  CHECK(problems_of(with_agent("    on_disconnect: cancle")) ==
        "treaty.yaml:4:20: expected continue or cancel (did you mean cancel?)\n");
  CHECK(problems_of(with_agent("    on_cut: contine")) ==
        "treaty.yaml:4:13: expected fail or continue (did you mean continue?)\n");
  CHECK(problems_of(with_agent("    conversations: {' ': {}}"))
            .contains("the name of a conversation is"));
  CHECK(problems_of(with_agent("    conversations: {a: {backends: []}}"))
            .contains("a conversation has no key backends"));
  CHECK(problems_of(with_agent("    sistem: a")).contains("did you mean system?"));
}

}  // namespace
}  // namespace treaty::config
