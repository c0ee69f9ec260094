// What an execution writes, counts and tells those who look on.
#include <algorithm>
#include <cmath>

#include "treaty/base/json_dynamic.h"
#include "treaty/base/timestamp.h"
#include "treaty/machines/journal/line_reading.h"
#include "treaty/machines/run/execution_run.h"

namespace treaty::machines {

namespace asio = boost::asio;

namespace {

void write_text_or_null(json::Writer& writer, std::string_view name, std::string_view text) {
  writer.name(name);
  if (text.empty()) {
    writer.null();
  } else {
    writer.value(text);
  }
}

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

void write_member(json::Writer& writer, std::string_view name, const Value& value) {
  writer.name(name);
  json::write(writer, value);
}

}  // namespace

std::string ExecutionRun::snapshot(std::string_view event, std::string_view state,
                                   const Value& output, std::string_view channel) const {
  const auto milliseconds = static_cast<std::int64_t>(world_.timeline.unix_now() * 1000);
  json::Writer writer;
  writer.begin_object();
  writer.member("execution_id", start_.execution).member("machine_name", machine_->name);
  writer.member("spec_version", machine_->spec_version).member("current_state", state);
  write_member(writer, "context", context_);
  writer.member("step", step_).member("created_at", timestamp_of(milliseconds));
  writer.member("event", event);
  write_member(writer, "output", output);
  writer.member("total_api_calls", spent_.api_calls).member("total_cost", spent_.cost);
  write_text_or_null(writer, "parent_execution_id", start_.parent);
  write_member(writer, "pending_launches", launches_->empty() ? Value() : Value(*launches_));
  write_text_or_null(writer, "waiting_channel", channel);
  write_member(writer, "tool_loop_state", loop_ ? Value(loop_state()) : Value());
  writer.member("config_hash", machine_->config_hash);
  if (start_.depth > 0) writer.member("depth", start_.depth);
  return writer.end_object().take();
}

ExecutionRun::Task<void> ExecutionRun::checkpoint(std::string_view event, std::string_view state,
                                                  const Value& output, std::string_view channel) {
  if (!notebook_.keeps(event)) co_return Attempt<void>();
  store::Checkpoint kept{.event = std::string(event),
                         .step = step_,
                         .state = std::string(state),
                         .channel = std::string(channel),
                         .snapshot = snapshot(event, state, output, channel)};
  if (depth_of(kept.snapshot) > lines::kDeepestLine && event != "machine_error") {
    co_return fail("context_too_deep", "ContextTooDeep",
                   "The context has grown too deep: does a state put the context into itself?");
  }
  if (kept.snapshot.size() > kLargestContext && event != "machine_error") {
    co_return fail("context_too_large", "ContextTooLarge",
                   "The context has grown over 16 MiB. Keep large things in files, and their names "
                   "in the context.");
  }
  auto written = co_await notebook_.add(std::move(kept));
  if (!written) co_return lost(std::move(written.error()));
  co_return Attempt<void>();
}

ExecutionRun::Task<void> ExecutionRun::note(std::string_view event, std::string line) {
  auto written = co_await notebook_.add_line(event, step_, std::move(line));
  if (!written) co_return lost(std::move(written.error()));
  co_return Attempt<void>();
}

// Before anything happens outside of the machine.
ExecutionRun::Task<void> ExecutionRun::flush() {
  if (auto going = check_stopping(); !going) co_return going;
  if (!notebook_.has_news()) co_return Attempt<void>();
  auto written = co_await notebook_.flush();
  if (!written) co_return lost(std::move(written.error()));
  co_return Attempt<void>();
}

Attempt<void> ExecutionRun::check_stopping() const {
  if (world_.is_stopping && world_.is_stopping()) return interrupted();
  return {};
}

void ExecutionRun::look(std::string_view kind, std::string_view state, std::string_view detail,
                        double seconds, std::string_view code) const {
  if (world_.watcher == nullptr) return;
  world_.watcher->on_happening({.kind = kind,
                                .execution = start_.execution,
                                .machine = machine_->name,
                                .depth = start_.depth,
                                .step = step_,
                                .state = state,
                                .detail = detail,
                                .seconds = seconds,
                                .code = code});
}

// `context.machine` is the runner's: nobody else changes it.
void ExecutionRun::set_metadata(std::string_view state) {
  Value& kept = context_.get_object()["machine"];
  if (!kept.is_object()) kept = Object();
  Object& machine = kept.get_object();
  if (machine.size() < 7) {
    machine.clear();
    machine["execution_id"] = start_.execution;
    machine["machine_name"] = machine_->name;
    if (!start_.parent.empty()) machine["parent_execution_id"] = start_.parent;
    machine["spec_version"] = machine_->spec_version;
    machine["depth"] = start_.depth;
  }
  machine["step"] = step_;
  machine["current_state"] = state;
  machine["total_api_calls"] = spent_.api_calls;
  machine["total_cost"] = spent_.cost;
}

void ExecutionRun::count(const Object& result) {
  const Spent more = spent_by(result);
  spent_.api_calls += more.api_calls;
  if (std::isfinite(spent_.cost + more.cost)) spent_.cost += more.cost;
  ++calls_;
  if (auto* machine = context_.get_object()["machine"].if_object()) {
    (*machine)["total_api_calls"] = spent_.api_calls;
    (*machine)["total_cost"] = spent_.cost;
  }
}

void ExecutionRun::remember_error(const Object& error) {
  Object& context = context_.get_object();
  context["last_error"] = sentence_of(error);
  const auto member = [&](std::string_view name) {
    return error.contains(name) ? Value(text_of(error, name)) : Value();
  };
  context["last_error_type"] = member("type");
  context["last_error_code"] = member("code");
}

const StepHistory& ExecutionRun::replayed() const {
  static const StepHistory kNothing;
  if (replay_.empty()) return kNothing;
  const auto found = replay_.find(step_);
  if (found == replay_.end()) return kNothing;
  const bool is_same = found->second.state.empty() || found->second.state == path_.back();
  return is_same ? found->second : kNothing;
}

templates::Scope ExecutionRun::scope(const Value* output, const Value* result) const {
  return {.context = &context_,
          .input = &input_,
          .output = output,
          .result = result,
          .context_over_input = true};
}

Attempt<Value> ExecutionRun::render(const Template& source, const templates::Scope& scope) const {
  auto value = source.render(scope);
  if (!value) return template_failure(value.error());
  return std::move(*value);
}

Attempt<Object> ExecutionRun::render_object(const std::optional<Template>& source,
                                            const templates::Scope& scope) const {
  if (!source) return Object();
  auto value = render(*source, scope);
  if (!value) return std::unexpected(std::move(value.error()));
  if (!value->is_object()) return template_failure("A mapping was expected.");
  return std::move(value->get_object());
}

}  // namespace treaty::machines
