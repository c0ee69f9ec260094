#include "treaty/machines/backend/machine_backend.h"

#include <fmt/format.h>

#include <boost/asio/this_coro.hpp>
#include <map>

#include "treaty/base/hash.h"
#include "treaty/base/ids.h"
#include "treaty/base/json_write.h"
#include "treaty/machines/backend/answer.h"
#include "treaty/machines/run/agent_values.h"

namespace treaty::machines {

namespace asio = boost::asio;

namespace {

using contracts::AgentResult;

// The results of tools that came after the newest words of the user, by their id.
std::map<std::string, const backends::ToolMessage*> results_in(const backends::Messages& messages) {
  std::map<std::string, const backends::ToolMessage*> results;
  for (const backends::Message& message : messages) {
    if (std::holds_alternative<backends::UserMessage>(message)) results.clear();
    if (const auto* result = std::get_if<backends::ToolMessage>(&message)) {
      results[result->tool_call_id] = result;
    }
  }
  return results;
}

// Names and codes alone: what was said is nobody's business here.
std::string data_of(const RunEvent& event) {
  json::Writer writer;
  writer.begin_object().member("Machine", event.machine);
  if (event.depth > 0) writer.member("Depth", event.depth);
  if (!event.state.empty()) writer.member("State", event.state);
  writer.member("Step", event.step);
  const std::string_view kind = event.kind;
  if (kind == "call") writer.member("Agent", event.detail);
  if (kind == "tool") writer.member("Tool", event.detail);
  if (kind == "child" || kind == "launch") writer.member("Child", event.detail);
  if (kind == "waiting") writer.member("Channel", event.detail);
  if (kind == "wait" || event.seconds > 0) writer.member("Seconds", event.seconds);
  if (kind == "end") writer.member("Status", event.detail);
  if (kind == "dispatch") {
    writer.member("Rule", event.code).member("Reason", event.detail);
  } else if (!event.code.empty()) {
    writer.member("ErrorCode", event.code);
  }
  return writer.end_object().take();
}

}  // namespace

// What is around one run. Machines that it launches hold it, too, and outlive the call that it was
// made for.
class MachineBackend::RunContext final : public Agents, public ToolRunner, public RunObserver {
 public:
  // Ends the run whatever happens to the coroutine.
  class Scope {
   public:
    explicit Scope(RunContext& context) : context_(context) {}
    ~Scope() { context_.end(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    RunContext& context_;
  };

  RunContext(const MachineServices& services, const backends::Call& call, backends::Sink& sink,
             asio::cancellation_state cancellation)
      : life_(services.hold()),
        agents_(services.agents),
        sink_(&sink),
        results_(results_in(call.messages)),
        cancellation_(cancellation) {}

  asio::awaitable<Dynamic> call(const AgentCall& call) override {
    Dynamic answer = co_await agents_.call(call);
    if (sink_ != nullptr) tally_.add(answer);
    co_return answer;
  }

  asio::awaitable<std::optional<ToolOutcome>> run(const ToolInvocation& call,
                                                  double /*deadline*/) override {
    if (!call.is_offered || sink_ == nullptr) {
      co_return tools::no_provider_for(call.name);
    }
    const auto found = results_.find(public_id_of(call.key));
    if (found == results_.end()) co_return std::nullopt;
    co_return ToolOutcome{.content = found->second->content, .is_error = found->second->failed};
  }

  void on_event(const RunEvent& event) override {
    if (sink_ != nullptr) {
      sink_->on_progress(fmt::format("machine.{}", event.kind), data_of(event));
    }
  }

  bool is_stopping() const {
    return sink_ != nullptr && cancellation_.cancelled() != asio::cancellation_type::none;
  }

  void count_earlier(const Object& call) {
    if (sink_ != nullptr) tally_.add(call);
  }

  const Tally& tally() const { return tally_; }

 private:
  // Call, sink and coroutine are gone after this.
  void end() {
    sink_ = nullptr;
    results_.clear();
  }

  std::shared_ptr<const void> life_;
  Agents& agents_;
  backends::Sink* sink_;  // Null: the run has ended.
  std::map<std::string, const backends::ToolMessage*> results_;
  asio::cancellation_state cancellation_;
  Tally tally_{};
};

MachineBackend::MachineBackend(std::shared_ptr<const Machine> machine, std::string file,
                               MachineServices services)
    : machine_(std::move(machine)), file_(std::move(file)), services_(std::move(services)) {}

asio::awaitable<AgentResult> MachineBackend::run(const backends::Call& call, backends::Sink& sink) {
  co_await asio::this_coro::throw_if_cancelled(false);  // A cancelled call still has its result.
  if (call.depth > machine_->settings.max_depth) {
    Outcome outcome{.status = Status::failed};
    outcome.error =
        make_error("max_depth", "MaxDepthExceeded",
                   fmt::format("'{}' would be machine {} within machines; the limit is {}.",
                               machine_->name, call.depth, machine_->settings.max_depth));
    co_return result_of(outcome);
  }
  if (backends::has_pictures(call.messages)) sink.on_pictures_left_out();
  const auto context = std::make_shared<RunContext>(services_, call, sink,
                                                    co_await asio::this_coro::cancellation_state);
  const RunContext::Scope scope(*context);
  World world{.agents = *context,
              .tools = *context,
              .timeline = services_.timeline,
              .store = services_.store,
              .hooks = services_.hooks,
              .open_machine = services_.open_machine,
              .observer = context.get(),
              .after_write = {},
              .origin = call.origin,
              .process = services_.process,
              .on_earlier_call = [context](const Object& call) { context->count_earlier(call); },
              .notes_hooks = false,
              .offered_tools = {},
              .is_stopping = [context] { return context->is_stopping(); },
              .is_ending = [context] { return false; }};  // They need the context.
  // Whoever is behind another machine is not there for a second round.
  if (call.depth == 0 && is_kept()) {
    world.offered_tools = std::make_shared<const std::vector<backends::Tool>>(call.tools);
  }
  const auto outcome = co_await drive(std::move(world), execution_of(call), sink, call);
  AgentResult result = outcome ? result_of(*outcome) : result_of(outcome.error());
  context->tally().give_to(result);
  if (!result.error && result.content) sink.on_text(*result.content);
  co_return result;
}

asio::awaitable<std::expected<Outcome, Error>> MachineBackend::drive(World world,
                                                                     std::string execution,
                                                                     backends::Sink& sink,
                                                                     const backends::Call& call) {
  auto known = is_kept() ? co_await services_.store.find_execution(execution)
                         : std::expected<std::optional<store::ExecutionRecord>, Error>();
  if (!known) co_return std::unexpected(std::move(known.error()));
  json::Writer writer;
  writer.begin_object().member("Machine", machine_->name).member("Execution", execution);
  sink.on_progress(*known ? "machine.resumed" : "machine.started", writer.end_object().take());
  if (*known) {
    co_return co_await resume_execution(std::move(world), std::move(execution), reader());
  }
  Start start{.execution = std::move(execution), .input = input_of(call), .parent = {}};
  start.depth = call.depth;
  co_return co_await run_or_resume(std::move(world), machine_, std::move(start));
}

// The file may have changed since: an execution ends in the machine that it began in.
ReadMachine MachineBackend::reader() const {
  return [machine = machine_, read = services_.read_machine](const std::string& text,
                                                             const std::string& directory)
             -> std::expected<std::shared_ptr<const Machine>, std::string> {
    if (text == machine->text && directory == machine->directory) return machine;
    return read(text, directory);
  };
}

bool MachineBackend::is_kept() const {
  return machine_->persistence.enabled && machine_->persistence.kind != PersistenceKind::memory;
}

std::string MachineBackend::execution_of(const backends::Call& call) const {
  if (call.asker.empty()) return "call-" + new_uuid();
  constexpr std::size_t kDigits = 32;
  return "turn-" + sha256_hex(fmt::format("{}\n{}", file_, call.asker)).substr(0, kDigits);
}

}  // namespace treaty::machines
