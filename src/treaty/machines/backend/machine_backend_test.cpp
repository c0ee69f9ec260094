#include "treaty/machines/backend/machine_backend.h"

#include <doctest/doctest.h>

#include "treaty/machines/load.h"
#include "treaty/store/memory/memory_machines.h"
#include "treaty/testing/stores/awaiting.h"

namespace treaty::machines {
namespace {

using contracts::AgentResult;

constexpr const char* kLoop = R"(
spec: flatmachine
spec_version: "4.0"
data:
  name: loop
  agents: {a: nobody.yml}
  states:
    work:
      agent: a
      input: {message: "{{ input.message }}"}
      tool_loop: true
      output_to_context: {text: "{{ output.content }}"}
      transitions: [{to: done}]
    done: {type: final, output: {content: "{{ context.text }}"}}
)";

// Answers what it is given, one after the other, and keeps what it was asked.
class Scripted final : public Agents {
 public:
  boost::asio::awaitable<Dynamic> call(const AgentCall& call) override {
    asked.push_back(call.input);
    chains.push_back(call.chain);
    offered.push_back(call.tools.size());
    depths.push_back(call.depth);
    co_return answers.at(asked.size() - 1);
  }

  std::vector<Dynamic> answers{};
  std::vector<Dynamic> asked{};
  std::vector<List> chains{};
  std::vector<std::size_t> offered{};
  std::vector<std::int64_t> depths{};
};

class Notes final : public backends::Sink {
 public:
  void on_text(std::string_view delta) override { text += delta; }
  void on_progress(std::string_view kind, std::string_view /*data*/) override {
    kinds.emplace_back(kind);
  }

  std::string text{};
  std::vector<std::string> kinds{};
};

struct House {
  Scripted agents{};
  std::unique_ptr<Timeline> timeline = real_timeline();
  std::unique_ptr<store::MachineStore> store = store::open_memory_machines();
  HookRegistry hooks{};
  Notes notes{};
  boost::asio::io_context context{1};
  std::string process = "first";

  AgentResult run(const char* text, const backends::Call& call) {
    const auto read = [](const std::string& source, const std::string& directory)
        -> std::expected<std::shared_ptr<const Machine>, std::string> {
      return load_machine(source, {.directory = directory}).machine;
    };
    MachineBackend backend(load_machine(text, {.directory = "/machines"}).machine,
                           "/machines/m.yml",
                           {.agents = agents,
                            .timeline = *timeline,
                            .store = *store,
                            .hooks = hooks,
                            .open_machine = read,
                            .read_machine = read,
                            .hold = [] { return std::shared_ptr<const void>(); },
                            .process = process});
    return testing::await(context, backend.run(call, notes));
  }
};

backends::Call call_of(std::string asker) {
  backends::Call call{.model = {}, .tools = {{.name = "look"}}};
  call.messages.push_back(backends::UserMessage{{backends::TextPart{"Go."}}});
  call.asker = std::move(asker);
  return call;
}

Object calling(std::string_view tool) {
  return {{"finish_reason", "tool_use"},
          {"tool_calls", List{Object{{"id", "a"}, {"name", tool}, {"arguments", "{}"}}}}};
}

TEST_CASE("The output of the machine is the answer, and what is streamed of it") {
  House house;
  house.agents.answers = {"Done."};

  const AgentResult result = house.run(kLoop, call_of("t1"));

  CHECK(result.content == "Done.");
  CHECK(house.notes.text == "Done.");
  CHECK(house.agents.asked == std::vector<Dynamic>{Object{{"message", "Go."}}});
  CHECK(house.notes.kinds == std::vector<std::string>{"machine.started", "machine.state",
                                                      "machine.call", "machine.answer",
                                                      "machine.state", "machine.end"});
}

TEST_CASE("The same asker goes on with its execution, another one begins its own") {
  House house;
  house.agents.answers = {"First.", "Second."};

  CHECK(house.run(kLoop, call_of("t1")).content == "First.");
  CHECK(house.run(kLoop, call_of("t1")).content == "First.");
  CHECK(house.run(kLoop, call_of("t2")).content == "Second.");
}

TEST_CASE("Calls of nobody in particular are executions of their own") {
  House house;
  house.agents.answers = {"First.", "Second."};

  CHECK(house.run(kLoop, call_of("")).content == "First.");
  CHECK(house.run(kLoop, call_of("")).content == "Second.");
}

TEST_CASE("A tool of the caller is called by it, and its result found again") {
  House house;
  house.agents.answers = {calling("look"), "Seen."};
  backends::Call call = call_of("t1");

  const AgentResult asking = house.run(kLoop, call);
  REQUIRE(asking.tool_calls);
  CHECK(asking.finish_reason == "tool_use");
  call.messages.push_back(backends::AssistantMessage{.tool_calls = *asking.tool_calls});
  call.messages.push_back(
      backends::ToolMessage{asking.tool_calls->front().id, "look", "It is blue.", false});
  const AgentResult answer = house.run(kLoop, call);

  CHECK(answer.content == "Seen.");
  CHECK(house.agents.offered == std::vector<std::size_t>{1, 1});
  const Object& told = house.agents.chains.back().back().as_object();
  CHECK(told == Object{{"role", "tool"},
                       {"tool_call_id", "a"},
                       {"name", "look"},
                       {"content", "It is blue."},
                       {"is_error", false}});
}

TEST_CASE("A tool that the caller does not have is told so at once") {
  House house;
  house.agents.answers = {calling("fly"), "Well."};

  CHECK(house.run(kLoop, call_of("t1")).content == "Well.");
  CHECK(house.agents.chains.back().back().as_object().at("content") ==
        "No tool provider configured for 'fly'");
}

TEST_CASE("A machine behind another machine is one deeper, and offers no tools") {
  House house;
  house.agents.answers = {"Deep."};
  backends::Call call = call_of("t1");
  call.depth = 3;

  CHECK(house.run(kLoop, call).content == "Deep.");

  CHECK(house.agents.depths == std::vector<std::int64_t>{4});
  CHECK(house.agents.offered == std::vector<std::size_t>{0});
}

constexpr const char* kTwoSteps = R"(
spec: flatmachine
spec_version: "4.0"
data:
  name: two
  agents: {a: nobody.yml}
  machines:
    part:
      spec: flatmachine
      spec_version: "4.0"
      data:
        agents: {a: nobody.yml}
        states: {only: {type: final, agent: a}}
  states:
    first: {machine: part, transitions: [{to: second}]}
    second: {agent: a, transitions: [{to: done}]}
    done: {type: final, output: {content: Done.}}
)";

Object costing(std::int64_t tokens) {
  return {{"content", "x"}, {"usage", Object{{"input_tokens", tokens}}}};
}

TEST_CASE("What a process that is gone has spent on a round is told by the next one, once") {
  House house;
  Object failing = costing(20);
  failing["error"] = Object{{"code", "server_error"}, {"message", "no"}, {"retryable", true}};
  house.agents.answers = {costing(1), failing, failing, costing(300)};
  backends::Call call = call_of("t1");

  CHECK(house.run(kTwoSteps, call).usage->input_tokens == 21);
  house.process = "second";
  CHECK(house.run(kTwoSteps, call).usage->input_tokens == 41);
  CHECK(house.run(kTwoSteps, call).usage->input_tokens == 300);
  CHECK(!house.run(kTwoSteps, call).usage);
  house.process = "third";
  CHECK(house.run(kTwoSteps, call).usage->input_tokens == 341);
  call.origin.round = 1;
  CHECK(!house.run(kTwoSteps, call).usage);
}

TEST_CASE("Machines behind machines have an end") {
  House house;
  backends::Call call = call_of("t1");
  call.depth = 17;

  CHECK(house.run(kLoop, call).error->code == "max_depth");
  CHECK(house.agents.asked.empty());
}

}  // namespace
}  // namespace treaty::machines
