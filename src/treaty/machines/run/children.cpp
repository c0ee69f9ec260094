// Machines that a state runs: one, a list, one for each item; and those that it launches and does
// not wait for (machines.md section 6). Each is an execution of its own.
#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/json_dynamic.h"
#include "treaty/machines/run/execution_run.h"
#include "treaty/machines/run/runner.h"

namespace treaty::machines {

namespace asio = boost::asio;

namespace {

Object told_failure(const Object& error) {
  return {{"_error", sentence_of(error)},
          {"_error_type", text_of(error, "type")},
          {"_error_code", text_of(error, "code")}};
}

Attempt<List> list_of(Value value) {
  if (auto* list = value.if_array()) return std::move(*list);
  if (const auto* text = value.if_string()) {
    const std::string copy(*text);
    const json::Document document(copy);
    const auto root = document.root();
    if (root && document.faults().empty() && root->is_array()) {
      return std::move(json::to_dynamic(*root).get_array());
    }
  }
  return fail(
      "not_a_list", "ForeachError",
      fmt::format("`foreach` needs a list, and not {}.", templates::print(value).substr(0, 80)));
}

Failure failure_of(const Outcome& outcome) {
  if (outcome.status == Status::lost) return lost(outcome.trouble).error();
  if (outcome.status == Status::interrupted) return interrupted().error();
  Object error = outcome.error;
  if (const auto state = error.find("state"); state != error.end()) error.stable_erase(state);
  return {.error = std::move(error)};
}

void forget_launched(List& launches, const std::string& execution) {
  const auto found = std::ranges::find_if(launches, [&](const Value& one) {
    return one.is_object() && text_of(one.get_object(), "execution_id") == execution;
  });
  if (found != launches.end()) launches.erase(found);
}

Outcome failed_outcome(Object error) {
  Outcome outcome{.status = Status::failed};
  outcome.error = std::move(error);
  return outcome;
}

}  // namespace

std::size_t ExecutionRun::most_at_once() const {
  return static_cast<std::size_t>(std::max<std::int64_t>(machine_->settings.max_parallel, 1));
}

ExecutionRun::Task<std::optional<ExecutionRun::Waiting>> ExecutionRun::run_machines(
    const State& state, Work& work) {
  auto children = state.foreach ? items_of(state) : children_of(state);
  if (!children) co_return std::unexpected(std::move(children.error()));
  auto outcomes = co_await run_children(state, *children);
  if (!outcomes) co_return std::unexpected(std::move(outcomes.error()));
  const bool is_any_done =
      state.mode == Mode::any &&
      std::ranges::find(*outcomes, Status::completed, &Outcome::status) != outcomes->end();
  const auto stands = std::ranges::find(*outcomes, Status::waiting, &Outcome::status);
  if (stands != outcomes->end() && !is_any_done) {
    for (const Outcome& outcome : *outcomes) {
      for (const Value& call : outcome.tool_calls) waiting_tools_.push_back(call);
    }
    // Without the channel of a signal, which is for the child.
    const std::string channel = stands->tool_calls.empty() ? "" : stands->channel;
    if (auto kept = co_await checkpoint("waiting", state.name, nullptr, channel); !kept) {
      co_return std::unexpected(std::move(kept.error()));
    }
    co_return std::optional(Waiting{stands->channel});
  }
  auto output = gather(state, *children, *outcomes);
  if (!output) co_return std::unexpected(std::move(output.error()));
  work.output = std::move(*output);
  co_return std::optional<Waiting>();
}

Attempt<std::vector<ExecutionRun::Child>> ExecutionRun::children_of(const State& state) {
  auto input = render_object(state.input, scope());
  if (!input) return std::unexpected(std::move(input.error()));
  std::vector<Child> children;
  for (const ChildReference& reference : state.machines) {
    Child child{.key = reference.name, .machine = reference.name, .input = *input};
    auto own = render_object(reference.input, scope());
    if (!own) return std::unexpected(std::move(own.error()));
    for (const auto& member : *own) child.input[member.key()] = member.value();
    children.push_back(std::move(child));
  }
  return children;
}

Attempt<std::vector<ExecutionRun::Child>> ExecutionRun::items_of(const State& state) {
  auto rendered = render(*state.foreach, scope());
  if (!rendered) return std::unexpected(std::move(rendered.error()));
  auto items = list_of(std::move(*rendered));
  if (!items) return std::unexpected(std::move(items.error()));
  std::vector<Child> children;
  std::set<std::string> keys;
  for (const Value& item : *items) {
    const templates::Binding bound[] = {{.name = state.item_name, .value = &item}};
    templates::Scope with_item = scope();
    with_item.bound = bound;
    Child child{.key = {}, .machine = state.machines.front().name, .input = {}};
    auto input = render_object(state.input, with_item);
    if (!input) return std::unexpected(std::move(input.error()));
    child.input = std::move(*input);
    auto own = render_object(state.machines.front().input, with_item);
    if (!own) return std::unexpected(std::move(own.error()));
    for (const auto& member : *own) child.input[member.key()] = member.value();
    if (state.key) {
      auto key = render(*state.key, with_item);
      if (!key) return std::unexpected(std::move(key.error()));
      child.key = templates::print(*key);
      if (!keys.insert(child.key).second) {
        return fail("duplicate_key", "ForeachError",
                    fmt::format("Two items of `foreach` have the key '{}'.", child.key));
      }
    }
    children.push_back(std::move(child));
  }
  return children;
}

ExecutionRun::Task<std::vector<Outcome>> ExecutionRun::run_children(
    const State& state, const std::vector<Child>& children) {
  if (auto written = co_await flush(); !written) {
    co_return std::unexpected(std::move(written.error()));
  }
  std::vector<Outcome> outcomes(children.size(), Outcome{.status = Status::interrupted});
  std::vector<char> is_journalled(children.size(), 0);
  bool is_enough = false;
  World world = world_;  // A child that is not wanted any more does not take that for a failure.
  world.is_stopping = [&, outer = world_.is_stopping] {
    return is_enough || world_.timeline.now() >= deadline_ || (outer && outer());
  };
  const auto& known = replayed().children;
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (const auto found = known.find(static_cast<std::int64_t>(i)); found != known.end()) {
      outcomes[i] = found->second;
      is_journalled[i] = 1;
      is_enough = is_enough || (state.mode == Mode::any && outcomes[i].status == Status::completed);
      continue;
    }
    jobs.push_back([&, i]() -> asio::awaitable<void> {
      const std::string id = fmt::format("{}.{}.{}", start_.execution, step_, i);
      outcomes[i] = co_await run_child(world, children[i], id);
      if (state.mode == Mode::any && outcomes[i].status == Status::completed) is_enough = true;
    });
  }
  if (is_enough) jobs.clear();
  const bool is_in_time =
      co_await world_.timeline.within(deadline_, [&]() -> asio::awaitable<void> {
        co_await world_.timeline.together(std::move(jobs), most_at_once(),
                                          [&] { return is_enough; });
      });
  if (auto going = check_stopping(); !going) co_return std::unexpected(std::move(going.error()));
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    calls_ += outcomes[i].calls;
    waits_.insert(waits_.end(), outcomes[i].waits.begin(), outcomes[i].waits.end());
    const bool has_ended =
        outcomes[i].status == Status::completed || outcomes[i].status == Status::failed;
    if (!has_ended || is_journalled[i] != 0) continue;
    auto noted =
        co_await note("noted", child_line(step_, static_cast<std::int64_t>(i), outcomes[i]));
    if (!noted) co_return std::unexpected(std::move(noted.error()));
  }
  if (!is_in_time) {
    co_return std::unexpected(Failure{.error = state_timeout(state.name)});
  }
  co_return outcomes;
}

std::expected<std::shared_ptr<const Machine>, Failure> ExecutionRun::machine_named(
    const std::string& name) const {
  const auto found = machine_->machines.find(name);
  if (found == machine_->machines.end()) {
    return fail("machine_not_found", "MachineNotFound",
                fmt::format("The machine has no machine '{}'.", name));
  }
  if (found->second.inlined) return found->second.inlined;
  auto opened = world_.open_machine(found->second.path, machine_->directory);
  if (!opened) return fail("machine_not_found", "MachineNotFound", opened.error());
  return *opened;
}

asio::awaitable<Outcome> ExecutionRun::run_child(const World& world, const Child& child,
                                                 std::string execution) {
  if (start_.depth + 1 > machine_->settings.max_depth) {
    co_return failed_outcome(
        make_error("max_depth", "MaxDepthExceeded",
                   fmt::format("'{}' would be machine {} within machines; the limit is {}.",
                               child.machine, start_.depth + 1, machine_->settings.max_depth)));
  }
  auto machine = machine_named(child.machine);
  if (!machine) co_return failed_outcome(std::move(machine.error().error));
  look("child", path_.back(), child.machine);
  Start start{.execution = std::move(execution),
              .input = child.input,
              .parent = start_.execution,
              .depth = start_.depth + 1,
              .max_steps = {},
              .is_kept = notebook_.is_kept()};
  co_return co_await run_or_resume(world, std::move(*machine), std::move(start));
}

Attempt<Value> ExecutionRun::gather(const State& state, const std::vector<Child>& children,
                                    const std::vector<Outcome>& outcomes) const {
  const bool is_single = !state.foreach && !state.machines_are_list;
  const bool is_list = state.foreach && !state.key;
  List list;
  Object object;
  const Outcome* first_failure = nullptr;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Outcome& outcome = outcomes[i];
    if (outcome.status == Status::lost) return std::unexpected(failure_of(outcome));
    const bool is_good = outcome.status == Status::completed;
    if (!is_good && outcome.status == Status::failed && first_failure == nullptr) {
      first_failure = &outcome;
    }
    if (is_single && !is_good) return std::unexpected(failure_of(outcome));
    if (is_single) return outcome.output;
    if (state.mode == Mode::any && !is_good) continue;
    Value one = is_good ? outcome.output : told_failure(outcome.error);
    if (is_list) {
      list.push_back(std::move(one));
    } else {
      object[children[i].key] = std::move(one);
    }
    if (state.mode == Mode::any) break;
  }
  if (state.mode == Mode::any && list.empty() && object.empty() && first_failure != nullptr) {
    return std::unexpected(failure_of(*first_failure));
  }
  if (is_list) return Value(std::move(list));
  return Value(std::move(object));
}

// The intent is on the disk before it begins, and it begins once: its name is made of the step.
ExecutionRun::Task<void> ExecutionRun::launch(const State& state) {
  auto input = render_object(state.launch_input, scope());
  if (!input) co_return std::unexpected(std::move(input.error()));
  std::vector<Object> intents;
  for (const std::string& name : state.launch) {
    if (start_.depth + 1 > machine_->settings.max_depth) {
      co_return fail("max_depth", "MaxDepthExceeded",
                     fmt::format("'{}' would be launched too deep.", name));
    }
    intents.push_back(
        {{"execution_id", fmt::format("{}.{}.launch{}", start_.execution, step_, intents.size())},
         {"machine", name},
         {"input", *input},
         {"launched", false}});
  }
  for (const Object& intent : intents) {
    forget_launched(*launches_, text_of(intent, "execution_id"));
    launches_->emplace_back(intent);
  }
  Attempt<void> going = co_await checkpoint("execute", state.name);
  if (going) going = co_await flush();
  if (!going) co_return going;
  for (std::size_t i = 0; i < intents.size(); ++i) {
    const auto machine = machine_named(text_of(intents[i], "machine"));
    if (!machine) co_return std::unexpected(machine.error());
    look("launch", state.name, text_of(intents[i], "machine"));
    std::int64_t calls = 0;
    co_await begin_launched(intents[i], *machine, calls);
    calls_ += calls;
    if (replayed().launched.contains(static_cast<std::int64_t>(i))) continue;
    going = co_await note("noted", launched_line(step_, static_cast<std::int64_t>(i), calls));
    if (!going) co_return going;
  }
  for (Value& one : *launches_) one.get_object()["launched"] = true;
  co_return Attempt<void>();
}

// Whatever it has done already, by whomever, it goes on from there. `calls` are those that are
// known at once: of a simulation.
asio::awaitable<void> ExecutionRun::begin_launched(const Object& intent,
                                                   std::shared_ptr<const Machine> machine,
                                                   std::int64_t& calls) {
  const auto input = intent.find("input");
  Start start{.execution = text_of(intent, "execution_id"),
              .input = input == intent.end() || !input->value().is_object()
                           ? Object()
                           : input->value().get_object(),
              .parent = start_.execution,
              .depth = start_.depth + 1,
              .max_steps = {},
              .is_kept = notebook_.is_kept()};
  World world = world_;
  world.offered_tools.reset();  // Whoever has them may be gone before they are needed.
  world.is_stopping = world.is_ending;
  const auto counted = std::make_shared<std::int64_t>(0);
  co_await world_.timeline.beside([world = std::move(world), machine = std::move(machine),
                                   start = std::move(start), counted,
                                   launches = launches_]() -> asio::awaitable<void> {
    const Outcome outcome = co_await run_or_resume(world, machine, start);
    *counted = outcome.calls;
    const bool has_ended = outcome.status == Status::completed || outcome.status == Status::failed;
    if (has_ended) forget_launched(*launches, start.execution);
  });
  calls = *counted;
}

// Those that had begun when the checkpoint was written, and may not have ended since.
asio::awaitable<void> ExecutionRun::go_on_with_launched(const List& launches) {
  *launches_ = launches;
  for (const Value& one : launches) {
    const auto* intent = one.if_object();
    const bool has_begun = intent != nullptr && intent->contains("launched") &&
                           templates::is_true(intent->at("launched"));
    if (!has_begun) continue;  // Its state is visited again.
    const auto machine = machine_named(text_of(*intent, "machine"));
    std::int64_t ignored = 0;
    if (machine) co_await begin_launched(*intent, *machine, ignored);
  }
}

}  // namespace treaty::machines
