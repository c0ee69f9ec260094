#include "treaty/machines/journal/history.h"

#include <fmt/format.h>

#include <tuple>

#include "treaty/base/json_dynamic.h"
#include "treaty/machines/journal/line_reading.h"
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

// --- Reading

using namespace lines;

void read_step(StepHistory& newest, std::string_view kind, const Object& line) {
  const std::int64_t n = whole(line, "n");
  if (kind == "call") newest.calls[n] = object(line, "result");
  if (kind == "wait") {
    newest.waits[n] = {.seconds = number(line, "seconds"), .until = number(line, "until")};
  }
  if (kind == "child") newest.children[n] = outcome_of(line);
  if (kind == "launched") newest.launched[n] = whole(line, "calls");
  if (kind == "tool") {
    const Dynamic is_error = value(line, "is_error");
    newest.tools[n] = {.content = text_of(line, "content"),
                       .is_error = is_error.is_bool() && is_error.get_bool()};
  }
  if (kind == "action") newest.action = list(line, "replies");
  if (kind == "signal") newest.signal = value(line, "data");
  if (kind == "exit") {
    newest.exit = StateExit{.result = value(line, "result"),
                            .output = value(line, "output"),
                            .redirect = optional_text(line, "redirect"),
                            .left_to = optional_text(line, "left_to")};
  }
}

void append(std::vector<double>& all, const std::vector<double>& more) {
  all.insert(all.end(), more.begin(), more.end());
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
    return Sums::Place(whole(line, "step"), of, whole(line, "n"));
  };
  if (kind == "call") sums.calls[place(Kind::own)] = 1;
  if (kind == "wait") sums.waits[place(Kind::own)] = {number(line, "seconds")};
  if (kind == "launched") sums.calls[place(Kind::launched)] = whole(line, "calls");
  if (kind != "child") return;
  const Outcome child = outcome_of(line);
  sums.calls[place(Kind::child)] = child.calls;
  sums.waits[place(Kind::child)] = child.waits;
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
  bool has_start = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto line = parse_line(lines[i]);
    if (!line) {
      return std::unexpected(fmt::format("line {} of its journal: {}", i + 1, line.error()));
    }
    const std::string kind = text_of(*line, "kind");
    const std::int64_t at = whole(*line, "step");
    if (kind == "start") {
      has_start = true;
      history.beginning = beginning_of(*line);
    } else if (kind == "end") {
      history.ended = outcome_of(*line);
    } else if (kind == "enter") {
      if (at <= step) sums.path[at] = text_of(*line, "state");
      // Another state in the same step: what was done in the one before is not this one's.
      if (at >= step) {
        StepHistory& visit = history.steps[at];
        if (!visit.state.empty() && visit.state != text_of(*line, "state")) visit = {};
        visit.state = text_of(*line, "state");
      }
    } else {
      if (at < step || (at == step && is_step_over)) add(sums, kind, *line);
      if (at >= step) read_step(history.steps[at], kind, *line);
    }
  }
  if (!has_start) return std::unexpected("its journal has no beginning");
  for (auto& [_, state] : sums.path) history.path.push_back(std::move(state));
  for (const auto& [_, calls] : sums.calls) history.calls += calls;
  for (const auto& [_, waits] : sums.waits) append(history.waits, waits);
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
                  .step = whole(*parsed, "step"),
                  .context = object(*parsed, "context"),
                  .output = value(*parsed, "output"),
                  .api_calls = whole(*parsed, "total_api_calls"),
                  .cost = number(*parsed, "total_cost"),
                  .tool_loop = value(*parsed, "tool_loop_state"),
                  .launches = list(*parsed, "pending_launches"),
                  .machine_name = text_of(*parsed, "machine_name"),
                  .config_hash = text_of(*parsed, "config_hash")};
}

}  // namespace treaty::machines
