#include "treaty/machines/run/execution_context.h"

#include <algorithm>
#include <cmath>

#include "treaty/base/json_dynamic.h"
#include "treaty/base/timestamp.h"
#include "treaty/base/try.h"

namespace treaty::machines {
namespace {

// Objects and lists within each other.
std::size_t depth_of(std::string_view json) {
  std::size_t depth = 0;
  std::size_t deepest = 0;
  bool is_text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (is_text && c == '\\') {
      ++i;
    } else if (c == '"') {
      is_text = !is_text;
    } else if (!is_text && (c == '{' || c == '[')) {
      deepest = std::max(deepest, ++depth);
    } else if (!is_text && (c == '}' || c == ']')) {
      --depth;
    }
  }
  return deepest;
}

void write_member(json::Writer& writer, std::string_view name, const Dynamic& value) {
  writer.name(name);
  json::write(writer, value);
}

Attempt<void> written_or_lost(std::expected<void, Error> written) {
  if (!written) return lost(std::move(written.error()));
  return {};
}

World with_ending(World world) {
  if (!world.is_ending) world.is_ending = world.is_stopping;
  return world;
}

}  // namespace

ExecutionContext::ExecutionContext(const World& around, std::shared_ptr<const Machine> what,
                                   Start how, JournalWriter out)
    : world(with_ending(around)),
      machine(std::move(what)),
      start(std::move(how)),
      writer(std::move(out)),
      input(start.input) {}

std::string ExecutionContext::snapshot(std::string_view event, std::string_view state,
                                       const Dynamic& output, std::string_view channel) const {
  const auto milliseconds = static_cast<std::int64_t>(world.timeline.unix_now() * 1000);
  json::Writer document;
  document.begin_object();
  document.member("execution_id", start.execution).member("machine_name", machine->name);
  document.member("spec_version", machine->spec_version).member("current_state", state);
  write_member(document, "context", context);
  document.member("step", step).member("created_at", timestamp_of(milliseconds));
  document.member("event", event);
  write_member(document, "output", output);
  document.member("total_api_calls", spent.api_calls).member("total_cost", spent.cost);
  document.member_or_null("parent_execution_id", start.parent);
  write_member(document, "pending_launches", launches->empty() ? Dynamic() : Dynamic(*launches));
  document.member_or_null("waiting_channel", channel);
  write_member(document, "tool_loop_state", tool_loop ? Dynamic(object_of(*tool_loop)) : Dynamic());
  document.member("config_hash", machine->config_hash);
  if (start.depth > 0) document.member("depth", start.depth);
  return document.end_object().take();
}

RunTask<void> ExecutionContext::checkpoint(std::string_view event, std::string_view state,
                                           const Dynamic& output, std::string_view channel) {
  if (!writer.keeps(event)) co_return Attempt<void>();
  store::Checkpoint kept{.event = std::string(event),
                         .step = step,
                         .state = std::string(state),
                         .channel = std::string(channel),
                         .snapshot = snapshot(event, state, output, channel)};
  if (depth_of(kept.snapshot) > kDeepestLine && event != "machine_error") {
    co_return fail("context_too_deep", "ContextTooDeep",
                   "The context has grown too deep: does a state put the context into itself?");
  }
  if (kept.snapshot.size() > kLargestContext && event != "machine_error") {
    co_return fail("context_too_large", "ContextTooLarge",
                   "The context has grown over 16 MiB. Keep large things in files, and their names "
                   "in the context.");
  }
  co_return written_or_lost(co_await writer.add(std::move(kept)));
}

RunTask<void> ExecutionContext::note(std::string_view event, std::string line) {
  co_return written_or_lost(co_await writer.add_line(event, step, std::move(line)));
}

RunTask<void> ExecutionContext::flush() {
  TREATY_CO_TRY_VOID(check_stopping());
  if (!writer.has_news()) co_return Attempt<void>();
  co_return written_or_lost(co_await writer.flush());
}

RunTask<void> ExecutionContext::release() { co_return written_or_lost(co_await writer.release()); }

RunTask<void> ExecutionContext::pause(double seconds) {
  const std::int64_t number = next_wait++;
  waits.push_back(seconds);
  const auto& known = replayed().waits;
  double left = seconds;
  if (const auto found = known.find(number); found != known.end()) {
    left = std::clamp(found->second.until - world.timeline.unix_now(), 0.0, seconds);
  } else {
    const double until = world.timeline.unix_now() + seconds;
    TREATY_CO_TRY_VOID(co_await note("wait", wait_line(step, number, seconds, until)));
  }
  if (left <= 0) co_return Attempt<void>();
  TREATY_CO_TRY_VOID(co_await flush());
  observe("wait", path.back(), {}, left);
  if (!co_await world.timeline.wait(left)) co_return interrupted();
  co_return check_stopping();
}

Attempt<void> ExecutionContext::check_stopping() const {
  if (world.is_stopping && world.is_stopping()) return interrupted();
  return written_or_lost(writer.check_lease());
}

void ExecutionContext::observe(std::string_view kind, std::string_view state,
                               std::string_view detail, double seconds,
                               std::string_view code) const {
  if (world.observer == nullptr) return;
  world.observer->on_event({.kind = kind,
                            .execution = start.execution,
                            .machine = machine->name,
                            .depth = start.depth,
                            .step = step,
                            .state = state,
                            .detail = detail,
                            .seconds = seconds,
                            .code = code});
}

// `context.machine` is the runner's: nobody else changes it.
void ExecutionContext::set_metadata(std::string_view state) {
  Dynamic& kept = members()["machine"];
  if (!kept.is_object()) kept = Object();
  Object& metadata = kept.get_object();
  if (metadata.size() < 7) {
    metadata.clear();
    metadata["execution_id"] = start.execution;
    metadata["machine_name"] = machine->name;
    if (!start.parent.empty()) metadata["parent_execution_id"] = start.parent;
    metadata["spec_version"] = machine->spec_version;
    metadata["depth"] = start.depth;
  }
  metadata["step"] = step;
  metadata["current_state"] = state;
  metadata["total_api_calls"] = spent.api_calls;
  metadata["total_cost"] = spent.cost;
}

void ExecutionContext::count_call(const Object& result) {
  const Spent more = spent_by(result);
  spent.api_calls += more.api_calls;
  if (std::isfinite(spent.cost + more.cost)) spent.cost += more.cost;
  ++calls;
  if (auto* metadata = members()["machine"].if_object()) {
    (*metadata)["total_api_calls"] = spent.api_calls;
    (*metadata)["total_cost"] = spent.cost;
  }
}

void ExecutionContext::pay(const Object& result) {
  if (!world.process.empty()) paid.push_back(price_of(result));
}

void ExecutionContext::set_last_error(const Object& error) {
  const auto member = [&](std::string_view name) {
    return error.contains(name) ? Dynamic(text_of(error, name)) : Dynamic();
  };
  members()["last_error"] = sentence_of(error);
  members()["last_error_type"] = member("type");
  members()["last_error_code"] = member("code");
}

void ExecutionContext::erase_member(std::string_view name) {
  if (const auto found = members().find(name); found != members().end()) {
    members().stable_erase(found);
  }
}

std::size_t ExecutionContext::max_parallel() const {
  return static_cast<std::size_t>(std::max<std::int64_t>(machine->settings.max_parallel, 1));
}

const StepHistory& ExecutionContext::replayed() const {
  static const StepHistory kNothing;
  if (replay.empty()) return kNothing;
  const auto found = replay.find(step);
  if (found == replay.end()) return kNothing;
  const bool is_same = found->second.state.empty() || found->second.state == path.back();
  return is_same ? found->second : kNothing;
}

templates::Scope ExecutionContext::scope(const Dynamic* output, const Dynamic* result) const {
  return {.context = &context,
          .input = &input,
          .output = output,
          .result = result,
          .context_over_input = true};
}

std::vector<Object> tell_earlier_payments(const World& world, const std::vector<RunHistory>& runs) {
  if (world.process.empty()) return {};
  EarlierPayments earlier = earlier_payments(runs, world.process, world.origin.round);
  if (!earlier.are_told && world.on_earlier_call) {
    for (const Object& call : earlier.paid) world.on_earlier_call(call);
  }
  return std::move(earlier.paid);
}

Attempt<Dynamic> render(const Template& source, const templates::Scope& scope) {
  auto value = source.render(scope);
  if (!value) return template_failure(value.error());
  return std::move(*value);
}

Attempt<Object> render_object(const std::optional<Template>& source,
                              const templates::Scope& scope) {
  if (!source) return Object();
  TREATY_TRY(Dynamic value, render(*source, scope));
  if (!value.is_object()) return template_failure("A mapping was expected.");
  return std::move(value.get_object());
}

Object object_of(const ToolLoopState& loop) {
  return {{"chain", loop.chain},
          {"turns", loop.turns},
          {"tool_calls_count", loop.tool_calls},
          {"loop_cost", loop.cost},
          {"calls", loop.calls},
          {"waits", loop.waits},
          {"seconds", loop.seconds},
          {"pending", loop.pending},
          {"next", static_cast<std::int64_t>(loop.next)},
          {"skipped", loop.skipped},
          {"result", loop.result}};
}

ToolLoopState read_tool_loop_state(const Object& kept) {
  return {.chain = or_empty(list_in(kept, "chain")),
          .turns = whole_in(kept, "turns"),
          .tool_calls = whole_in(kept, "tool_calls_count"),
          .calls = whole_in(kept, "calls"),
          .waits = whole_in(kept, "waits"),
          .cost = number_in(kept, "loop_cost"),
          .seconds = number_in(kept, "seconds"),
          .pending = or_empty(list_in(kept, "pending")),
          .next = static_cast<std::size_t>(std::max<std::int64_t>(whole_in(kept, "next"), 0)),
          .skipped = or_empty(list_in(kept, "skipped")),
          .result = or_empty(object_in(kept, "result"))};
}

}  // namespace treaty::machines
