#include "treaty/machines/journal/history.h"

#include <fmt/format.h>

#include <functional>
#include <tuple>

#include "treaty/base/json_dynamic.h"
#include "treaty/base/try.h"
#include "treaty/machines/run/agent_values.h"

namespace treaty::machines {
namespace {

class Line {
 public:
  explicit Line(std::string_view kind) { writer_.begin_object().member("kind", kind); }
  Line(std::string_view kind, std::int64_t step) : Line(kind) { writer_.member("step", step); }

  Line& with(std::string_view name, const auto& content) {
    writer_.member(name, content);
    return *this;
  }
  Line& with_json(std::string_view name, const auto& value) {
    writer_.name(name);
    json::write(writer_, value);
    return *this;
  }
  std::string done() { return writer_.end_object().take(); }

 private:
  json::Writer writer_{};
};

void describe(Line& line, const Outcome& outcome) {
  line.with("id", outcome.execution).with("status", name_of(outcome.status));
  if (outcome.status == Status::completed) line.with_json("output", outcome.output);
  if (outcome.status == Status::failed) line.with_json("error", outcome.error);
  line.with("calls", outcome.calls);
  List waits;
  for (const double wait : outcome.waits) waits.emplace_back(wait);
  line.with_json("waits", Dynamic(std::move(waits)));
}

// --- Reading. A member that is missing or of another kind is 0, empty or null.

std::vector<double> numbers_in(const Object& line, std::string_view name) {
  std::vector<double> numbers;
  for (const Dynamic& one : or_empty(list_in(line, name))) {
    if (one.is_number()) numbers.push_back(one.to_number<double>());
  }
  return numbers;
}

std::optional<std::string> optional_text_in(const Object& line, std::string_view name) {
  return line.contains(name) ? std::optional(text_of(line, name)) : std::nullopt;
}

Outcome outcome_of(const Object& line) {
  Outcome outcome{.status = text_of(line, "status") == name_of(Status::completed)
                                ? Status::completed
                                : Status::failed,
                  .execution = text_of(line, "id"),
                  .output = value_in(line, "output"),
                  .error = or_empty(object_in(line, "error"))};
  outcome.calls = whole_in(line, "calls");
  outcome.waits = numbers_in(line, "waits");
  return outcome;
}

std::expected<Object, std::string> parse_line(std::string_view text) {
  const json::Document document(
      text, {.max_size = std::size_t{64} << 20U, .max_depth = kDeepestLine + 8});
  const auto root = document.root();
  if (!document.faults().empty() || !root || !root->is_object()) {
    return std::unexpected("it is not a JSON object");
  }
  return json::to_dynamic_object(*root);
}

Beginning beginning_of(const Object& line) {
  return {.text = text_of(line, "machine"),
          .directory = text_of(line, "directory"),
          .input = or_empty(object_in(line, "input")),
          .parent = text_of(line, "parent"),
          .depth = whole_in(line, "depth")};
}

// The error names the line.
std::expected<void, std::string> for_each_line(
    const std::vector<std::string>& lines,
    const std::function<void(std::string_view kind, const Object& line)>& take) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto line = parse_line(lines[i]);
    if (!line) {
      return std::unexpected(fmt::format("line {} of its journal: {}", i + 1, line.error()));
    }
    take(text_in(*line, "kind"), *line);
  }
  return {};
}

void read_step(StepHistory& newest, std::string_view kind, const Object& line) {
  const std::int64_t n = whole_in(line, "n");
  if (kind == "call") newest.calls[n] = or_empty(object_in(line, "result"));
  if (kind == "wait") {
    newest.waits[n] = {.seconds = number_in(line, "seconds"), .until = number_in(line, "until")};
  }
  if (kind == "child") newest.children[n] = outcome_of(line);
  if (kind == "launched") newest.launched[n] = whole_in(line, "calls");
  if (kind == "tool") {
    newest.tools[n] = {.content = text_of(line, "content"), .is_error = flag_in(line, "is_error")};
  }
  if (kind == "action") newest.action = or_empty(list_in(line, "replies"));
  if (kind == "signal") newest.signal = value_in(line, "data");
  if (kind == "exit") {
    newest.exit = StateExit{.result = value_in(line, "result"),
                            .output = value_in(line, "output"),
                            .redirect = optional_text_in(line, "redirect"),
                            .left_to = optional_text_in(line, "left_to")};
  }
}

// Sums over all steps. A line may stand twice when a commit was repeated: the last one counts.
struct Sums {
  enum class Kind : std::uint8_t { own, child, launched };
  using Place = std::tuple<std::int64_t, Kind, std::int64_t>;  // Step, and number within it.
  std::map<Place, std::vector<double>> waits{};
  std::map<Place, std::int64_t> calls{};
  std::map<std::int64_t, std::string> path{};
};

void add(Sums& sums, std::string_view kind, const Object& line) {
  using Kind = Sums::Kind;
  const auto place = [&](Kind of) {
    return Sums::Place(whole_in(line, "step"), of, whole_in(line, "n"));
  };
  if (kind == "call") sums.calls[place(Kind::own)] = 1;
  if (kind == "wait") sums.waits[place(Kind::own)] = {number_in(line, "seconds")};
  if (kind == "launched") sums.calls[place(Kind::launched)] = whole_in(line, "calls");
  if (kind != "child") return;
  const Outcome child = outcome_of(line);
  sums.calls[place(Kind::child)] = child.calls;
  sums.waits[place(Kind::child)] = child.waits;
}

// What each run has paid. A line may stand twice here, too.
class Payments {
 public:
  void add(std::string_view kind, const Object& line) {
    if (kind == "run") {
      runs_.push_back({.process = text_of(line, "process"), .round = whole_in(line, "round")});
      prices_.emplace_back();
    }
    if (runs_.empty() || (kind != "call" && kind != "child")) return;
    const Place place(kind == "child", whole_in(line, "step"), whole_in(line, "n"));
    const Object* paid = object_in(line, kind == "call" ? "result" : "paid");
    if (paid != nullptr) prices_.back()[place] = price_of(*paid);
  }

  std::vector<RunHistory> take() {
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      for (auto& [_, price] : prices_[i]) runs_[i].paid.push_back(std::move(price));
    }
    return std::move(runs_);
  }

 private:
  using Place = std::tuple<bool, std::int64_t, std::int64_t>;
  std::vector<RunHistory> runs_{};
  std::vector<std::map<Place, Object>> prices_{};
};

// --- For those who look at it

// By their numbers: a line may stand twice when a commit was repeated, and the last one counts.
struct Gathered {
  StepAccount step{};
  std::map<std::int64_t, CallAccount> calls{};
  std::map<std::int64_t, double> waits{};
  std::map<std::int64_t, Outcome> children{};
  std::map<std::int64_t, std::string> tools{};
};

CallAccount call_of(const Object& line) {
  const Object result = or_empty(object_in(line, "result"));
  CallAccount call{.agent = text_of(line, "agent"),
                   .finish_reason = text_of(result, "finish_reason")};
  if (const Object* error = error_of(result)) call.error = *error;
  return call;
}

void add(Gathered& step, std::string_view kind, const Object& line) {
  const std::int64_t number = whole_in(line, "n");
  if (kind == "call") step.calls[number] = call_of(line);
  if (kind == "wait") step.waits[number] = number_in(line, "seconds");
  if (kind == "child") step.children[number] = outcome_of(line);
  if (kind == "tool") step.tools[number] = text_of(line, "tool");
  if (kind == "signal") step.step.signal = value_in(line, "data");
  if (kind == "exit") step.step.redirect = text_of(line, "redirect");
}

StepAccount account_of(std::int64_t number, Gathered gathered) {
  StepAccount step = std::move(gathered.step);
  step.step = number;
  for (auto& [_, call] : gathered.calls) step.calls.push_back(std::move(call));
  for (const auto& [_, wait] : gathered.waits) step.waits.push_back(wait);
  for (auto& [_, tool] : gathered.tools) step.tools.push_back(std::move(tool));
  for (auto& [_, child] : gathered.children) step.children.push_back(std::move(child));
  return step;
}

}  // namespace

std::string_view name_of(Status status) {
  switch (status) {
    case Status::completed: return "completed";
    case Status::failed: return "failed";
    case Status::waiting: return "waiting";
    case Status::interrupted: return "interrupted";
    case Status::lost: return "lost";
  }
  return "failed";
}

std::string line_of(const Beginning& beginning) {
  return Line("start")
      .with("machine", beginning.text)
      .with("directory", beginning.directory)
      .with_json("input", beginning.input)
      .with("parent", beginning.parent)
      .with("depth", beginning.depth)
      .done();
}

std::string run_line(std::string_view process, std::int64_t round) {
  return Line("run").with("process", process).with("round", round).done();
}

Object price_of(const Object& result) {
  Object price;
  for (const std::string_view name : {"usage", "cost"}) {
    if (const Dynamic* found = result.if_contains(name)) price[name] = *found;
  }
  return price;
}

EarlierPayments earlier_payments(const std::vector<RunHistory>& runs, std::string_view process,
                                 std::int64_t round) {
  EarlierPayments earlier;
  for (const RunHistory& run : runs) {
    if (run.round != round) continue;
    earlier.paid.insert(earlier.paid.end(), run.paid.begin(), run.paid.end());
    earlier.are_told = earlier.are_told || run.process == process;
  }
  return earlier;
}

std::string entered_line(std::int64_t step, std::string_view state) {
  return Line("enter", step).with("state", state).done();
}

std::string call_line(std::int64_t step, std::int64_t number, std::string_view agent,
                      const Object& result) {
  return Line("call", step)
      .with("n", number)
      .with("agent", agent)
      .with_json("result", result)
      .done();
}

std::string action_line(std::int64_t step, const List& replies) {
  return Line("action", step).with_json("replies", Dynamic(replies)).done();
}

std::string signal_line(std::int64_t step, const Dynamic& data) {
  return Line("signal", step).with_json("data", data).done();
}

std::string wait_line(std::int64_t step, std::int64_t number, double seconds, double until) {
  return Line("wait", step).with("n", number).with("seconds", seconds).with("until", until).done();
}

std::string child_line(std::int64_t step, std::int64_t number, const Outcome& outcome) {
  Line line("child", step);
  line.with("n", number);
  describe(line, outcome);
  if (!outcome.paid.empty()) line.with_json("paid", with_sums({}, outcome.paid));
  return line.done();
}

std::string launched_line(std::int64_t step, std::int64_t number, std::int64_t calls) {
  return Line("launched", step).with("n", number).with("calls", calls).done();
}

std::string tool_line(std::int64_t step, std::int64_t number, std::string_view tool,
                      const ToolOutcome& outcome) {
  return Line("tool", step)
      .with("n", number)
      .with("tool", tool)
      .with("content", outcome.content)
      .with("is_error", outcome.is_error)
      .done();
}

std::string hook_line(std::int64_t step, std::string_view hook, std::string_view event) {
  return Line("hook", step).with("hook", hook).with("event", event).done();
}

std::string exit_line(std::int64_t step, const StateExit& exit) {
  Line line("exit", step);
  line.with_json("result", exit.result).with_json("output", exit.output);
  if (exit.redirect) line.with("redirect", *exit.redirect);
  if (exit.left_to) line.with("left_to", *exit.left_to);
  return line.done();
}

std::string ended_line(const Outcome& outcome) {
  Line line("end");
  describe(line, outcome);
  return line.done();
}

std::expected<History, std::string> read_history(const std::vector<std::string>& lines,
                                                 std::int64_t step, bool is_step_over) {
  History history;
  Sums sums;
  Payments payments;
  bool has_start = false;
  TREATY_TRY_VOID(for_each_line(lines, [&](std::string_view kind, const Object& line) {
    const std::int64_t at = whole_in(line, "step");
    payments.add(kind, line);
    if (kind == "start") {
      has_start = true;
      history.beginning = beginning_of(line);
    } else if (kind == "end") {
      history.ended = outcome_of(line);
    } else if (kind == "run") {
      return;
    } else if (kind == "enter") {
      if (at <= step) sums.path[at] = text_of(line, "state");
      // Another state in the same step: what was done in the one before is not this one's.
      if (at >= step) {
        StepHistory& visit = history.steps[at];
        if (!visit.state.empty() && visit.state != text_in(line, "state")) visit = {};
        visit.state = text_of(line, "state");
      }
    } else {
      if (at < step || (at == step && is_step_over)) add(sums, kind, line);
      if (at >= step) read_step(history.steps[at], kind, line);
    }
  }));
  if (!has_start) return std::unexpected("its journal has no beginning");
  history.runs = payments.take();
  for (auto& [_, state] : sums.path) history.path.push_back(std::move(state));
  for (const auto& [_, calls] : sums.calls) history.calls += calls;
  for (const auto& [_, waits] : sums.waits)
    history.waits.insert(history.waits.end(), waits.begin(), waits.end());
  return history;
}

void count_asked(const std::vector<std::string>& lines,
                 std::map<std::string, std::int64_t>& asked) {
  for (const std::string& text : lines) {
    const auto line = parse_line(text);
    if (!line) continue;
    const std::string kind = text_of(*line, "kind");
    if (kind == "call") ++asked["agent:" + text_of(*line, "agent")];
    if (kind == "tool") ++asked["tool:" + text_of(*line, "tool")];
    if (kind == "hook") ++asked["hook:" + text_of(*line, "hook") + ':' + text_of(*line, "event")];
  }
}

std::expected<Snapshot, std::string> read_snapshot(std::string_view text) {
  const auto parsed = parse_line(text);
  if (!parsed) return std::unexpected("its snapshot: " + parsed.error());
  return Snapshot{.event = text_of(*parsed, "event"),
                  .state = text_of(*parsed, "current_state"),
                  .step = whole_in(*parsed, "step"),
                  .context = or_empty(object_in(*parsed, "context")),
                  .output = value_in(*parsed, "output"),
                  .api_calls = whole_in(*parsed, "total_api_calls"),
                  .cost = number_in(*parsed, "total_cost"),
                  .tool_loop = value_in(*parsed, "tool_loop_state"),
                  .launches = or_empty(list_in(*parsed, "pending_launches")),
                  .config_hash = text_of(*parsed, "config_hash")};
}

std::optional<Beginning> read_beginning(const std::vector<std::string>& lines) {
  if (lines.empty()) return std::nullopt;
  const auto line = parse_line(lines.front());
  if (!line || text_of(*line, "kind") != "start") return std::nullopt;
  return beginning_of(*line);
}

std::expected<Account, std::string> read_account(const std::vector<std::string>& lines) {
  Account account;
  std::map<std::int64_t, Gathered> steps;
  TREATY_TRY_VOID(for_each_line(lines, [&](std::string_view kind, const Object& line) {
    const std::int64_t at = whole_in(line, "step");
    if (kind == "start") {
      account.beginning = beginning_of(line);
    } else if (kind == "end") {
      account.ended = outcome_of(line);
    } else if (kind == "enter") {
      steps[at].step.state = text_of(line, "state");
    } else if (const auto step = steps.find(at); step != steps.end()) {
      add(step->second, kind, line);
    }
  }));
  for (auto& [number, gathered] : steps) {
    account.steps.push_back(account_of(number, std::move(gathered)));
  }
  return account;
}

}  // namespace treaty::machines
