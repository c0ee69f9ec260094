// Machines as wholes, in a simulated world: the runner and the store are those of every run.
#include "treaty/machines/run/runner.h"

#include <doctest/doctest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "treaty/base/json_dynamic.h"
#include "treaty/machines/hooks/built_in_hooks.h"
#include "treaty/machines/load.h"
#include "treaty/machines/run/agent_values.h"
#include "treaty/machines/script/simulation.h"
#include "treaty/store/memory/memory_machines.h"

namespace treaty::machines {
namespace {

namespace asio = boost::asio;
using Path = std::vector<std::string>;

template <class T>
T wait_for(asio::awaitable<T> task) {
  asio::io_context loop(1);
  std::optional<T> answer;
  asio::co_spawn(loop, std::move(task),
                 [&](const std::exception_ptr&, T done) { answer = std::move(done); });
  loop.run();
  return std::move(*answer);
}

std::shared_ptr<const Machine> machine(std::string_view data,
                                       std::set<std::string, std::less<>> hooks = {}) {
  const Loaded loaded =
      load_machine("spec: flatmachine\nspec_version: \"4.2.1\"\ndata:\n" + std::string(data),
                   {.directory = ".", .hooks = std::move(hooks)});
  for (const Diagnostic& finding : loaded.violations) FAIL_CHECK(finding.message);
  REQUIRE(loaded.machine);
  return loaded.machine;
}

// A store, and as many processes one after the other as a test wants.
struct House {
  std::unique_ptr<store::MachineStore> store = store::open_memory_machines();

  World world(Simulation& simulation, const HookRegistry& hooks) const {
    return {.agents = simulation,
            .tools = simulation,
            .timeline = simulation.timeline(),
            .store = *store,
            .hooks = hooks,
            .open_machine = [](const std::string& path, const std::string&) {
              return std::expected<std::shared_ptr<const Machine>, std::string>(std::unexpect,
                                                                                "no file " + path);
            }};
  }

  struct Ran {
    Outcome outcome;
    List hooks;
  };
  Ran run(const std::shared_ptr<const Machine>& what, std::string_view script, Object input = {},
          const char* id = "x") const {
    Simulation simulation(*read_script(script), 1'700'000'000);
    const HookRegistry hooks = simulation.hooks(built_in_hooks({}));
    Outcome outcome = wait_for(
        run_machine(world(simulation, hooks), what, {.execution = id, .input = std::move(input)}));
    return {std::move(outcome), simulation.recorded()};
  }
  std::expected<Outcome, Error> resume(const std::shared_ptr<const Machine>& what,
                                       std::string_view script, const char* id = "x") const {
    Simulation simulation(*read_script(script), 1'700'000'000);
    const HookRegistry hooks = simulation.hooks(built_in_hooks({}));
    return wait_for(
        resume_execution(world(simulation, hooks), id, [&](const std::string&, const std::string&) {
          return std::expected<std::shared_ptr<const Machine>, std::string>(what);
        }));
  }
};

constexpr const char* kAsk = R"(
  agents: {a: ./a.yml}
  states:
    ask:
      agent: a
      output_to_context: {said: output.content}
      on_error: {rate_limit: limited}
      transitions: [{to: done}]
    limited: {type: final, output: {code: context.last_error_code}}
    done: {type: final, output: {said: context.said, calls: context.machine.total_api_calls}}
)";

TEST_CASE("A machine goes from state to state, and its last output is its own") {
  const auto ran = House().run(machine(kAsk), R"({"agents": {"a": [{"content": "hi"}]}})");

  CHECK(ran.outcome.status == Status::completed);
  CHECK(ran.outcome.output == Object{{"said", "hi"}, {"calls", 1}});
  CHECK(ran.outcome.path == Path{"ask", "done"});
}

TEST_CASE("An agent's error is data: its code says where to go") {
  const auto ran =
      House().run(machine(kAsk),
                  R"({"agents": {"a": [{"error": {"code": "rate_limit", "message": "slow"}}]}})");

  CHECK(ran.outcome.output == Object{{"code", "rate_limit"}});
}

TEST_CASE("An error that nobody catches fails the machine, and names the state") {
  const auto ran =
      House().run(machine(kAsk),
                  R"({"agents": {"a": [{"error": {"code": "auth_error", "message": "no key"}}]}})");

  CHECK(ran.outcome.status == Status::failed);
  CHECK(text_of(ran.outcome.error, "code") == "auth_error");
  CHECK(text_of(ran.outcome.error, "state") == "ask");
}

TEST_CASE("A failed machine that is resumed goes into its state again, and forgets nothing") {
  const House house;
  house.run(machine(kAsk), R"({"agents": {"a": [{"error": {"code": "auth_error"}}]}})");

  const auto again = house.resume(machine(kAsk), R"({"agents": {"a": ["hi"]}})");

  REQUIRE(again);
  CHECK(again->status == Status::completed);
  CHECK(again->path == Path{"ask", "ask", "done"});
  CHECK(again->calls == 2);
}

TEST_CASE("A second execution of the same name is refused, and the first stays as it is") {
  const House house;
  house.run(machine(kAsk), R"({"agents": {"a": ["hi"]}})");

  const auto second = house.run(machine(kAsk), R"({"agents": {"a": ["ho"]}})");

  CHECK(second.outcome.status == Status::lost);
  CHECK(second.outcome.trouble.code == ErrorCode::conflict);
  CHECK(house.resume(machine(kAsk), "{}")->output == Object{{"said", "hi"}, {"calls", 1}});
}

TEST_CASE("An execution that is leased by somebody else is left alone") {
  const House house;
  house.run(machine(kAsk), R"({"agents": {"a": [{"error": {"code": "auth_error"}}]}})");
  REQUIRE(wait_for(house.store->acquire("x")));

  const auto second = house.resume(machine(kAsk), R"({"agents": {"a": ["hi"]}})");

  REQUIRE_FALSE(second);
  CHECK(second.error().code == ErrorCode::conflict);
}

TEST_CASE("A signal that comes later is taken when the execution is resumed") {
  const House house;
  const auto waits = machine(R"(
  states:
    w: {wait_for: "go/{{ input.n }}", output_to_context: {v: output.value}, transitions: [{to: f}]}
    f: {type: final, output: {v: context.v}}
)");

  const auto first = house.run(waits, "{}", {{"n", 7}});
  REQUIRE(wait_for(house.store->send_signal("go/7", R"("yes")")));
  const auto second = house.resume(waits, "{}");

  CHECK(first.outcome.status == Status::waiting);
  CHECK(first.outcome.channel == "go/7");
  CHECK(second->output == Object{{"v", "yes"}});
  CHECK(second->path == Path{"w", "f"});
}

TEST_CASE("A child that waits makes its parent wait, and both go on") {
  const House house;
  const auto parent = machine(R"(
  machines:
    child:
      spec: flatmachine
      spec_version: "4.2.1"
      data:
        states:
          w: {wait_for: go, output_to_context: {v: output.value}, transitions: [{to: f}]}
          f: {type: final, output: {v: context.v}}
  states:
    p: {machine: child, output_to_context: {o: output}, transitions: [{to: f}]}
    f: {type: final, output: {o: context.o}}
)");

  CHECK(house.run(parent, "{}").outcome.status == Status::waiting);
  REQUIRE(wait_for(house.store->send_signal("go", "1")));
  const auto after = house.resume(parent, "{}");

  CHECK(after->status == Status::completed);
  CHECK(after->output == Object{{"o", Object{{"v", 1}}}});
}

TEST_CASE("A hook sees the whole result, and what it answers counts before the context") {
  const auto hooked = machine(R"(
  agents: {a: ./a.yml}
  states:
    s: {agent: a, hooks: h, output_to_context: {r: output.content}, transitions: [{to: f}]}
    f: {type: final, output: {r: context.r, n: context.n}}
)",
                              {"h"});

  const auto ran = House().run(hooked, R"({
    "agents": {"a": [{"error": {"code": "timeout", "message": "late"}}]},
    "hooks": {"h": {"on_state_exit": [{"output": {"content": "mended"}, "context": {"n": 1}}]}}})");

  CHECK(ran.outcome.output == Object{{"r", "mended"}, {"n", 1}});
  REQUIRE(ran.hooks.size() == 3);
  CHECK(ran.hooks[1].at("output").at("error").at("code") == "timeout");
}

TEST_CASE("What a hook says of context.machine is not taken over") {
  const auto hooked = machine(R"(
  states:
    s: {hooks: h, transitions: [{to: f}]}
    f: {type: final, output: {step: context.machine.step}}
)",
                              {"h"});

  const auto ran = House().run(
      hooked, R"({"hooks": {"h": {"on_state_enter": [{"context": {"machine": {"step": 99}}}]}}})");

  CHECK(ran.outcome.output == Object{{"step", 2}});
}

TEST_CASE("Children deeper than max_depth fail, and the failure is the state's") {
  const auto deep = machine(R"(
  settings: {max_depth: 0}
  machines:
    c:
      spec: flatmachine
      spec_version: "4.2.1"
      data: {states: {f: {type: final}}}
  states:
    p: {machine: c, on_error: {max_depth: f}, transitions: [{to: g}]}
    f: {type: final, output: {t: context.last_error_type}}
    g: {type: final}
)");

  CHECK(House().run(deep, "{}").outcome.output == Object{{"t", "MaxDepthExceeded"}});
}

TEST_CASE(
    "A context that outgrows its limit fails with a word about it, and does not fill the disk") {
  const auto growing = machine(R"(
  context: {t: "0123456789abcdef"}
  states:
    s:
      output_to_context: {t: "{{ context.t }}{{ context.t }}"}
      transitions: [{to: s}]
    f: {type: final}
)");

  const auto ran = House().run(growing, "{}");

  CHECK(ran.outcome.status == Status::failed);
  CHECK(text_of(ran.outcome.error, "code") == "context_too_large");
}

TEST_CASE(
    "Tool calls that somebody outside must answer stop the execution, and it goes on with them") {
  const auto loop = machine(R"(
  agents: {a: ./a.yml}
  states:
    s: {agent: a, tool_loop: true, output_to_context: {o: output.content}, transitions: [{to: f}]}
    f: {type: final, output: {o: context.o, n: context._tool_calls_count}}
)");
  class Outside final : public ToolRunner {
   public:
    asio::awaitable<std::optional<ToolOutcome>> run(const ToolInvocation& call, double) override {
      if (!is_answered) co_return std::nullopt;
      co_return ToolOutcome{.content = "result of " + call.name};
    }
    bool is_answered = false;
  };
  const House house;
  const auto script = read_script(R"({"agents": {"a": [
    {"finish_reason": "tool_use", "tool_calls": [{"id": "1", "name": "look", "arguments": "{}"},
                                                 {"id": "2", "name": "read", "arguments": "{}"}]},
    {"content": "done", "finish_reason": "stop"}]}})");
  Simulation simulation(*script, 0);
  const HookRegistry hooks = simulation.hooks({});
  Outside outside;
  const World base = house.world(simulation, hooks);
  const World world{.agents = base.agents,
                    .tools = outside,
                    .timeline = base.timeline,
                    .store = base.store,
                    .hooks = base.hooks,
                    .open_machine = base.open_machine};

  const Outcome first = wait_for(run_or_resume(world, loop, {.execution = "x"}));
  outside.is_answered = true;
  const Outcome second = wait_for(run_or_resume(world, loop, {.execution = "x"}));

  CHECK(first.status == Status::waiting);
  CHECK(first.tool_calls.size() == 2);
  CHECK(second.output == Object{{"o", "done"}, {"n", 2}});
  CHECK(second.calls == 2);
}

TEST_CASE(
    "A machine that does not want to be kept leaves nothing, and takes signals all the same") {
  const House house;
  const auto fleeting = machine(R"(
  persistence: {enabled: false}
  states:
    w: {wait_for: go, output_to_context: {v: output.value}, transitions: [{to: f}]}
    f: {type: final, output: {v: context.v}}
)");
  REQUIRE(wait_for(house.store->send_signal("go", "3")));

  CHECK(house.run(fleeting, "{}").outcome.output == Object{{"v", 3}});
  CHECK(wait_for(house.store->list_executions())->empty());
}

TEST_CASE("A machine whose context cannot be made makes it again when it is resumed") {
  const House house;
  const auto broken = machine(R"(
  context: {p: 1, q: "{{ input.n.m.k }}", r: 5}
  states: {f: {type: final, output: {p: context.p, r: context.r}}}
)");

  CHECK(house.run(broken, "{}").outcome.status == Status::failed);
  CHECK(house.resume(broken, "{}")->status == Status::failed);
}

TEST_CASE("A hook that fails at the end fails the machine, and only the hook is asked again") {
  const House house;
  const auto ends = machine(R"(
  lifecycle_hooks: h
  agents: {a: ./a.yml}
  states: {f: {type: final, agent: a}}
)",
                            {"h"});

  const auto first = house.run(
      ends,
      R"({"agents": {"a": ["hi", "ho"]}, "hooks": {"h": {"on_machine_end": [{"fail": "x"}]}}})");
  const auto second = house.resume(ends, R"({"agents": {"a": ["ho"]}, "hooks": {"h": {}}})");

  CHECK(first.outcome.status == Status::failed);
  CHECK(second->status == Status::completed);
  CHECK(second->output == Object{{"content", "hi"}});
  CHECK(second->path == Path{"f"});
}

TEST_CASE("What a file says of context.machine is not taken over") {
  const auto forged = machine(R"(
  context: {machine: {execution_id: fake, a: 1, b: 2, c: 3, d: 4, e: 5, f: 6}}
  states: {f: {type: final, output: {id: context.machine.execution_id}}}
)");

  CHECK(House().run(forged, "{}").outcome.output == Object{{"id", "x"}});
}

TEST_CASE("A context that is put into itself again and again fails before nobody can read it") {
  const auto deep = machine(R"(
  settings: {max_steps: 5000}
  states:
    s: {output_to_context: {x: context}, transitions: [{to: s}]}
    f: {type: final}
)");
  const House house;

  const auto ran = house.run(deep, "{}");

  CHECK(text_of(ran.outcome.error, "code") == "context_too_deep");
  CHECK(house.resume(deep, "{}").has_value());
}

TEST_CASE(
    "Calls that a limit keeps from being made are answered before the model is asked to end") {
  class Chains final : public Agents {
   public:
    asio::awaitable<Dynamic> call(const AgentCall& call) override {
      chains.push_back(call.chain);
      if (call.without_tools) co_return Object{{"content", "enough"}, {"finish_reason", "stop"}};
      co_return Object{{"finish_reason", "tool_use"},
                       {"tool_calls", List{Object{{"id", "1"}, {"name", "look"}},
                                           Object{{"id", "2"}, {"name", "look"}}}}};
    }
    std::vector<List> chains{};
  };
  const auto loop = machine(R"(
  agents: {a: ./a.yml}
  states: {s: {type: final, agent: a, tool_loop: {max_tool_calls: 1}}}
)");
  const House house;
  Simulation simulation(*read_script("{}"), 0);
  const HookRegistry hooks;
  Chains agents;
  const World base = house.world(simulation, hooks);
  const World world{.agents = agents,
                    .tools = base.tools,
                    .timeline = base.timeline,
                    .store = base.store,
                    .hooks = base.hooks,
                    .open_machine = base.open_machine};

  const Outcome outcome = wait_for(run_machine(world, loop, {.execution = "x"}));

  CHECK(outcome.output.at("content") == "enough");
  REQUIRE(agents.chains.size() == 2);
  const List& last = agents.chains.back();
  REQUIRE(last.size() == 4);
  CHECK(last[1].at("tool_call_id") == "1");
  CHECK(last[2].at("tool_call_id") == "2");
  CHECK(last[3].at("role") == "user");
}

TEST_CASE("A condition about the answer does not break a tool loop that has none yet") {
  const auto loop = machine(R"(
  agents: {a: ./a.yml}
  states:
    s:
      agent: a
      tool_loop: true
      transitions: [{condition: "output._tool_calls_count > 0", to: f}, {to: g}]
    f: {type: final, output: {w: f}}
    g: {type: final, output: {w: g}}
)");

  const auto ran = House().run(loop, R"({"agents": {"a": [
    {"finish_reason": "tool_use", "tool_calls": [{"id": "1", "name": "look", "arguments": "{}"}]},
    {"content": "done", "finish_reason": "stop"}]}, "tools": {"look": ["r"]}})");

  CHECK(ran.outcome.output == Object{{"w", "f"}});
  CHECK(ran.outcome.calls == 2);
}

}  // namespace
}  // namespace treaty::machines
