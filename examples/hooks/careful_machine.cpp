// Runs a machine with a hook that is a C++ class: it waits out short rate limits, changes the
// provider when the day's are used up, and stops at errors that no second try can mend.
//
//   careful_machine machine.yml '{"question": "…"}'
//
// The machine names the hook `careful` and has the states short_wait, long_wait, switch_provider
// and fatal (careful_machine.yml is one). Its agents are played by this program, so that the
// example needs no key: the first one has met a limit, the second one answers. Exit: 0 done, 1 the
// machine failed, 2 wrong usage.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <iostream>
#include <span>
#include <string>

#include "treaty/base/files.h"
#include "treaty/base/json_dynamic.h"
#include "treaty/machines/hooks/built_in_hooks.h"
#include "treaty/machines/hooks/machine_hooks.h"
#include "treaty/machines/load.h"
#include "treaty/machines/run/runner.h"
#include "treaty/store/memory/memory_machines.h"

namespace {

namespace asio = boost::asio;
namespace machines = treaty::machines;
using boost::json::object;
using treaty::Json;

// Where an exhausted window leads. Windows of a minute and of an hour pass by themselves.
class Careful final : public treaty::MachineHooks {
 public:
  Json on_state_exit(std::string_view /*state*/, Json& context, Json output) override {
    const object* error = member(output, "error");
    if (error == nullptr) return output;
    if (error->at("code") == "rate_limit") return next_state(output, context);
    const Json* retryable = error->if_contains("retryable");
    if (retryable != nullptr && *retryable == Json(true)) return output;
    context.as_object()["fatal_code"] = error->at("code");
    return "fatal";
  }

 private:
  static const object* member(const Json& holder, std::string_view name) {
    const Json* found = holder.is_object() ? holder.get_object().if_contains(name) : nullptr;
    return found == nullptr ? nullptr : found->if_object();
  }

  static Json number(const object& holder, std::string_view name, int otherwise) {
    const Json* found = holder.if_contains(name);
    return found == nullptr ? Json(otherwise) : *found;
  }

  // Null leaves everything as it is: the error stands.
  static Json next_state(const Json& output, Json& context) {
    const object* limit = member(output, "rate_limit");
    if (limit == nullptr || !limit->contains("windows")) return nullptr;
    for (const Json& entry : limit->at("windows").as_array()) {
      const object& window = entry.as_object();
      if (number(window, "remaining", 1) != Json(0)) continue;
      const std::string name(window.at("name").as_string());
      if (name.contains("day")) return "switch_provider";
      const bool is_long = name.contains("hour");
      context.as_object()["wait_seconds"] =
          is_long ? number(window, "resets_in", 3600) : number(*limit, "retry_after", 60);
      return is_long ? "long_wait" : "short_wait";
    }
    return nullptr;
  }
};

// `first` has used up its day; everybody else answers.
class PlayedAgents final : public machines::Agents {
 public:
  asio::awaitable<machines::Dynamic> call(const machines::AgentCall& call) override {
    if (call.agent.name != "first") {
      co_return object{{"content", "An answer of " + call.agent.name + "."},
                       {"finish_reason", "stop"}};
    }
    const object window = {
        {"name", "tokens_per_day"}, {"resource", "tokens"}, {"remaining", 0}, {"resets_in", 43200}};
    co_return object{
        {"error", object{{"code", "rate_limit"},
                         {"type", "RateLimitError"},
                         {"message", "Tokens of the day are used up"},
                         {"status_code", 429},
                         {"retryable", true}}},
        {"finish_reason", "error"},
        {"rate_limit", object{{"limited", true}, {"windows", boost::json::array{window}}}}};
  }
};

class NoTools final : public machines::ToolRunner {
 public:
  asio::awaitable<std::optional<machines::ToolOutcome>> run(const machines::ToolInvocation& call,
                                                            double /*deadline*/) override {
    co_return machines::ToolOutcome{"There is no tool " + call.name + ".", true};
  }
};

int fail(std::string_view what, int exit_code) {
  std::cerr << "careful_machine: " << what << '\n';
  return exit_code;
}

int run(const std::string& path, const object& input) {
  const auto text = treaty::read_file(path, std::size_t{10} << 20U);
  if (!text) return fail(path + ": " + text.error().message, 2);
  const auto loaded = machines::load_machine(*text, {.directory = ".", .hooks = {"careful"}});
  for (const auto& violation : loaded.violations) {
    std::cerr << path << ':' << violation.line << ": " << violation.message << '\n';
  }
  if (loaded.machine == nullptr) return 2;

  asio::io_context loop(1);
  machines::HookRegistry hooks = machines::built_in_hooks({});
  hooks["careful"] = [](const machines::HookOrder&) {
    return machines::make_hook(std::make_shared<Careful>());
  };
  PlayedAgents agents;
  NoTools tools;
  const auto timeline = machines::real_timeline();
  const auto store = treaty::store::open_memory_machines();
  const machines::World world{.agents = agents,
                              .tools = tools,
                              .timeline = *timeline,
                              .store = *store,
                              .hooks = hooks,
                              .open_machine = {}};
  machines::Outcome outcome;
  asio::co_spawn(
      loop, machines::run_machine(world, loaded.machine, {.execution = "careful", .input = input}),
      [&outcome](const std::exception_ptr&, machines::Outcome ended) {
        outcome = std::move(ended);
      });
  loop.run();

  treaty::json::Writer writer;
  treaty::json::write(writer, outcome.output);
  std::cout << writer.take() << '\n';
  return outcome.status == machines::Status::completed ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char*> words(argv, static_cast<std::size_t>(argc));
  if (words.size() != 3) return fail("give a machine and its input as JSON", 2);
  const treaty::json::Document input(words[2]);
  if (!input.faults().empty() || !input.root() || !input.root()->is_object()) {
    return fail("the input is not a JSON object", 2);
  }
  return run(words[1], treaty::json::to_dynamic_object(*input.root()));
}
