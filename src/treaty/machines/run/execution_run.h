// One execution of a machine, from its lease to its end (machines.md section 4). The path of a
// state reads top to bottom in visit(); what a state does is in working.cpp, calling.cpp,
// tool_loop.cpp, tool_calls.cpp and children.cpp, what follows from it in leaving.cpp.
//
// Belongs to one event loop.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "treaty/machines/journal/history.h"
#include "treaty/machines/journal/notebook.h"
#include "treaty/machines/run/failure.h"
#include "treaty/machines/run/world.h"

namespace treaty::machines {

// Beyond that a checkpoint is not written: contexts are for what states tell each other.
constexpr std::size_t kLargestContext = std::size_t{16} << 20U;

struct Start {
  std::string execution{};
  Object input{};
  std::string parent{};
  std::int64_t depth = 0;
  std::optional<std::int64_t> max_steps{};  // Instead of the machine's.
  bool is_kept = true;                      // Unless the machine itself does not want to be.
};

// What a tool loop knows between two of its steps; kept in checkpoints.
struct Loop {
  List chain{};
  std::int64_t turns = 0;
  std::int64_t tool_calls = 0;
  std::int64_t calls = 0;  // Of agents, for the totals of an execution that goes on;
  std::int64_t waits = 0;  // and between them.
  double cost = 0;
  double seconds = 0;    // That it took before a checkpoint.
  double began = 0;      // So that the time of earlier runners counts.
  List pending{};        // Calls of the model that are not answered,
  std::size_t next = 0;  // from this one on.
  List skipped{};
  Object result{};  // The model's newest answer.
  std::string stop{};
  std::optional<std::string> left_to{};
};
struct LoopLimits {
  double max_turns = 0;
  double max_tool_calls = 0;
  double tool_timeout = 0;
  double total_timeout = 0;
  double max_cost = 0;
  std::set<std::string> allowed{};
  std::set<std::string> denied{};

  bool allows(const std::string& tool) const {
    return !denied.contains(tool) && (allowed.empty() || allowed.contains(tool));
  }
};

class ExecutionRun {
 public:
  template <class T>
  using Task = boost::asio::awaitable<Attempt<T>>;

  ExecutionRun(const World& world, std::shared_ptr<const Machine> machine, Start start,
               Notebook notebook);

  boost::asio::awaitable<Outcome> begin();
  boost::asio::awaitable<Outcome> go_on(const Snapshot& snapshot, History history);

 private:
  enum class Point : std::uint8_t { enter, entered, execute, exited };

  // What a state's work gave.
  struct Work {
    Value result{};  // The AgentResult; null without an agent.
    Value output = Object();
    std::optional<std::string> left_to{};  // By a transition within the tool loop.
    bool is_rendered = false;              // A final state's output, already.
  };
  struct To {
    std::string state;
  };
  struct End {
    Value output;
  };
  struct Waiting {
    std::string channel;
  };
  using Onward = std::variant<To, End, Waiting>;
  using Worked = std::variant<Work, Waiting>;

  // --- execution_run.cpp: the loop
  boost::asio::awaitable<Outcome> live(const State* state, Point point);
  Task<Onward> visit(const State& state, Point from);
  Task<void> enter(const State& state);
  boost::asio::awaitable<Outcome> start();
  boost::asio::awaitable<Outcome> end(Value output);
  boost::asio::awaitable<Outcome> tell_end(Value output);
  boost::asio::awaitable<Outcome> fail_with(Failure failure, const State* state);
  boost::asio::awaitable<Outcome> stop_with(Failure failure);
  boost::asio::awaitable<Outcome> stand(std::string channel);
  Outcome outcome(Status status);
  Task<void> render_context();

  // --- keeping.cpp: what is written
  Task<void> checkpoint(std::string_view event, std::string_view state,
                        const Value& output = nullptr, std::string_view channel = {});
  Task<void> note(std::string_view event, std::string line);
  Task<void> flush();
  std::string snapshot(std::string_view event, std::string_view state, const Value& output,
                       std::string_view channel) const;
  Attempt<void> check_stopping() const;
  void look(std::string_view kind, std::string_view state, std::string_view detail = {},
            double seconds = 0, std::string_view code = {}) const;
  void set_metadata(std::string_view state);
  void count(const Object& result);
  void remember_error(const Object& error);

  // --- asking.cpp: hooks
  // May change what the next hook is told. True: nobody else is asked.
  using OnReply = std::function<Attempt<bool>(const HookReply& reply, Object& details)>;
  Task<void> tell(const std::vector<HookReference>& hooks, std::string_view event, Object details,
                  const OnReply& on_reply = {});
  Attempt<Hook*> hook_of(const HookReference& reference);
  Attempt<void> merge(const HookReply& reply);
  Attempt<void> check_state(const std::string& name) const;
  // A state that a reply names; nothing when it names none.
  Attempt<std::optional<std::string>> state_in(const HookReply& reply,
                                               std::string_view member) const;

  // --- leaving.cpp
  Task<Exit> conclude(const State& state, Work work);
  Task<void> show_exit(const State& state, Work& work, std::optional<std::string>& redirect);
  Attempt<void> replace_output(const State& state, Work& work, const Value& output,
                               std::optional<std::string>& redirect);
  Attempt<void> map_output(const State& state, const Work& work);
  Task<Onward> leave(const State& state, const Exit& exit);
  Task<Onward> take(const State& state, std::string to);
  Task<Onward> route_error(const State& state, const Object& error, const Exit* exit);
  boost::asio::awaitable<std::expected<Onward, Failure>> route_failure(const State& state,
                                                                       Failure failure);
  Task<std::optional<std::string>> ask_for_recovery(const State& state, const Object& error);
  Attempt<const Transition*> first_transition(const State& state, const Exit& exit,
                                              bool only_about_result) const;

  // --- working.cpp: what a state does
  Task<Worked> perform(const State& state);
  Task<Worked> wait_for_signal(const State& state);
  Task<void> act(const State& state);
  Task<void> wait_as_told(const State& state);
  Task<void> pause(double seconds);

  // --- calling.cpp: agents
  Task<Worked> call_agent(const State& state);
  Task<Object> execute(const State& state, AgentCall& call);
  Task<Object> retry(const State& state, AgentCall& call);
  Task<Object> sample(const State& state, const AgentCall& call);
  Task<Object> vote(const State& state, AgentCall& call);
  Task<Object> ask(const State& state, AgentCall& call);
  Task<Object> ask_as(const State& state, AgentCall call, std::int64_t number);

  // --- tool_loop.cpp
  Task<Worked> run_tool_loop(const State& state, AgentCall& call);
  Task<bool> run_loop_turn(const State& state, AgentCall& call, const LoopLimits& limits);
  Task<bool> run_tools(const State& state, const LoopLimits& limits);
  Task<bool> run_tool(const State& state, const LoopLimits& limits, const Object& call);
  Task<ToolOutcome> use_tool(const LoopLimits& limits, const ToolCall& call, bool& is_outside);
  Task<void> force_answer(const State& state, AgentCall& call);
  std::string refusal_of(const LoopLimits& limits, const ToolCall& call) const;
  std::vector<backends::Tool> tools_for(const LoopLimits& limits) const;
  ToolCall tool_call_at(std::size_t place) const;  // Of those that are pending.
  void note_waiting_tools(const LoopLimits& limits);
  Attempt<LoopLimits> limits_of(const State& state) const;
  Attempt<bool> looks_for_exit(const State& state);
  void answer_unmade_calls();
  std::string limit_reached(const LoopLimits& limits) const;
  Object loop_state() const;
  void restore_loop(const Object& kept);
  void show_loop();
  bool is_told_to_abort();
  List take_list(std::string_view name);  // From the context, once.

  // --- children.cpp
  struct Child {
    std::string key;  // Its name in the output.
    std::string machine;
    Object input;
  };
  Task<std::optional<Waiting>> run_machines(const State& state, Work& work);
  Attempt<std::vector<Child>> children_of(const State& state);
  Attempt<std::vector<Child>> items_of(const State& state);
  Task<std::vector<Outcome>> run_children(const State& state, const std::vector<Child>& children);
  boost::asio::awaitable<Outcome> run_child(const World& world, const Child& child,
                                            std::string execution);
  Attempt<Value> gather(const State& state, const std::vector<Child>& children,
                        const std::vector<Outcome>& outcomes) const;
  Task<void> launch(const State& state);
  boost::asio::awaitable<void> begin_launched(const Object& intent,
                                              std::shared_ptr<const Machine> machine,
                                              std::int64_t& calls);
  boost::asio::awaitable<void> go_on_with_launched(const List& launches);
  std::expected<std::shared_ptr<const Machine>, Failure> machine_named(
      const std::string& name) const;

  std::size_t most_at_once() const;
  templates::Scope scope(const Value* output = nullptr, const Value* result = nullptr) const;
  Attempt<Value> render(const Template& source, const templates::Scope& scope) const;
  Attempt<Object> render_object(const std::optional<Template>& source,
                                const templates::Scope& scope) const;

  World world_;
  std::shared_ptr<const Machine> machine_;
  Start start_;
  Notebook notebook_;
  std::map<std::string, std::shared_ptr<Hook>, std::less<>> hooks_{};

  Value context_ = Object();
  Value input_{};
  std::int64_t step_ = 0;
  Spent spent_{};
  std::vector<std::string> path_{};
  std::int64_t calls_ = 0;
  std::vector<double> waits_{};
  // Machines that were launched and may not have ended: whoever goes on sees to them. They may
  // outlive this one.
  std::shared_ptr<List> launches_ = std::make_shared<List>();

  // Of the state that is being visited.
  double deadline_ = kNever;
  std::int64_t next_call_ = 0;
  std::int64_t next_wait_ = 0;
  std::optional<Loop> loop_{};
  List waiting_tools_{};

  std::map<std::int64_t, StepHistory> replay_{};  // What earlier runners have done, by step.
  const StepHistory& replayed() const;
};

}  // namespace treaty::machines
