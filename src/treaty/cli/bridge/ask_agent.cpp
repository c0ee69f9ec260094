#include "treaty/cli/bridge/ask_agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>

#include "treaty/base/ids.h"
#include "treaty/base/mutex.h"
#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"
#include "treaty/base/try.h"
#include "treaty/bridge/half_written.h"
#include "treaty/cli/bridge/agent_answer.h"
#include "treaty/cli/bridge/directory.h"
#include "treaty/cli/bridge/progress.h"
#include "treaty/cli/shared/configured.h"
#include "treaty/cli/shared/invoke_report.h"
#include "treaty/cli/shared/local_client.h"
#include "treaty/cli/shared/remote_client.h"
#include "treaty/cli/shared/wait_notice.h"
#include "treaty/cli/terminal.h"
#include "treaty/turns/settings.h"

namespace treaty::cli {
namespace {

using bridge::AskedRequest;
using bridge::Exchange;
using contracts::AgentResult;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kLongestWait = 30LL * 24 * 3600;  // Seconds; more is as good as for ever.

// A request's own timeout_seconds is its deadline; the engine's must not come before it, and
// requests wait up to 30 days (kLongestWait).
constexpr std::chrono::hours kLongestTurn{31 * 24};

class LocalAgentClients final : public AgentClients {
 public:
  LocalAgentClients(std::unique_ptr<Gateway> gateway, turns::Settings settings)
      : gateway_(std::move(gateway)), settings_(std::move(settings)) {}

  std::unique_ptr<GatewayClient> open_client(Signals& signals, OnTurnEvent on_event) override {
    return std::make_unique<LocalClient>(*gateway_, signals, std::move(on_event));
  }

  bool may_have(const std::string& agent) const override {
    return settings_.find_agent(agent) != nullptr;
  }

 private:
  std::unique_ptr<Gateway> gateway_;
  turns::Settings settings_;
};

class RemoteAgentClients final : public AgentClients {
 public:
  explicit RemoteAgentClients(RemoteAddress address) : address_(std::move(address)) {}

  std::unique_ptr<GatewayClient> open_client(Signals& signals, OnTurnEvent on_event) override {
    return std::make_unique<RemoteClient>(address_, signals, std::move(on_event));
  }

  bool may_have(const std::string& /*agent*/) const override { return true; }

 private:
  RemoteAddress address_;
};

// The agent that would be asked what it asks; empty when there is none.
std::string asks_itself(const config::Configuration& configuration,
                        std::span<const std::string> directories) {
  for (const auto& [name, agent] : configuration.turns.agents) {
    for (const dispatch::Choice& choice : agent.chain) {
      const auto* bridge = configuration.find_backend<config::BridgeDirectory>(choice.backend);
      if (bridge == nullptr) continue;
      const auto place = bridge::resolve_directory(bridge->path);
      if (place && std::ranges::find(directories, *place) != directories.end()) return name;
    }
  }
  return {};
}

// Its prepared answers are of no use to a program that asks.
void warn_of_demo(std::string_view command, const config::Configuration& configuration) {
  const bool has_demo =
      std::ranges::any_of(configuration.backends_of<config::ScriptFile>(),
                          [](const auto& entry) { return entry.second->path.empty(); });
  if (!has_demo) return;
  for (const std::string& note : configuration.notes) {
    print_error("treaty {}: {}\n", command, harmless(note));
  }
}

Result<std::unique_ptr<AgentClients>> open_own_agents(std::string_view command,
                                                      const Arguments& arguments,
                                                      const OpenGateway& open,
                                                      std::span<const std::string> directories) {
  TREATY_TRY(auto configuration, load_private_configuration(command, arguments));
  if (const std::string name = asks_itself(configuration, directories); !name.empty()) {
    return failed_with(kBadConfiguration,
                       fmt::format("the agent {} asks by file in a directory that is answered "
                                   "here: it would be asked its own questions",
                                   harmless(name)),
                       "answer with another configuration: --config FILE");
  }
  warn_of_demo(command, configuration);
  const std::string agent = arguments.get("--agent");
  if (!agent.empty() && configuration.turns.find_agent(agent) == nullptr) {
    return failed_with(
        kBadConfiguration, fmt::format("the configuration has no agent {}", harmless(agent)),
        arguments.has("--config") ? fmt::format("treaty config show --config {} lists its agents",
                                                shell_word(harmless(arguments.get("--config"))))
                                  : "treaty config show lists its agents");
  }
  configuration.turns.explicit_sessions = false;  // Each request has a session of its own.
  configuration.workers = 1;
  for (auto& [name, one] : configuration.turns.agents) one.deadline = kLongestTurn;
  TREATY_TRY(auto gateway, open_gateway(open, configuration));
  return std::make_unique<LocalAgentClients>(std::move(gateway), std::move(configuration.turns));
}

// Failures that no agent had a part in: nothing was asked, so nothing is answered.
constexpr std::array<std::string_view, 6> kNotAsked = {"unauthenticated",   "forbidden",
                                                       "session_not_found", "agent_not_found",
                                                       "overloaded",        "store_unavailable"};

std::string_view error_code_of(const TurnEnd& end) {
  const auto* failure =
      end.result ? std::get_if<contracts::Failure>(&end.result->outcome) : nullptr;
  return failure == nullptr ? std::string_view() : failure->errors.front().error_code;
}

// Waits that nobody notices are not told.
constexpr double kShortWait = 1;  // Seconds.

// One request on its way to an answer.
class Inquiry {
 public:
  Inquiry(bridge::Driver& driver, AgentClients& agents, Signals& signals, const Exchange& exchange,
          const AskOptions& options)
      : driver_(driver),
        agents_(agents),
        signals_(signals),
        exchange_(exchange),
        request_(*exchange.request.document),
        options_(options),
        client_(agents.open_client(signals, [this](std::string_view kind, std::string_view data) {
          if (auto failure = failed_attempt_of(kind, data)) {
            const MutexLock lock(mutex_);
            last_failure_ = *std::move(failure);
          }
          const auto notice = notice_of(kind, data);
          if (notice && notice->seconds.value_or(kShortWait + 1) > kShortWait) tell(notice->text);
        })) {}

  AnswerOutcome run(std::optional<AskedRequest> earlier) {
    if (exchange_.answer == bridge::AnswerState::torn) {
      if (auto ended = await_other_writer()) return *std::move(ended);
    }
    // An answer that has no place is not paid for.
    if (const auto may = driver_.may_answer(exchange_); !may) return unwritable(may.error());
    AnswerOutcome reply = ask(std::move(earlier));
    if (reply.response) return written(std::move(reply));
    if (may_go_on_) return reply;
    const std::string why = reply.signal != 0 ? "interrupted" : parts_of(reply.failure).message;
    // What cannot be journalled either is asked under its old ids next time, which costs nothing.
    [[maybe_unused]] const auto noted = driver_.note(
        "request.given_up", with_options({{"request_id", request_.request_id}, {"why", why}}));
    return reply;
  }

 private:
  // Half an answer may be whole in a moment: then no agent needs to be asked. Nothing when its
  // writer was cut off.
  std::optional<AnswerOutcome> await_other_writer() {
    const std::string& path = exchange_.response.path;
    auto there = bridge::await_response(path, exchange_.request.document, [&] {
      tell(fmt::format("{} is being written; waiting for the rest of it", harmless(path)));
    });
    if (bridge::is_being_written_now(there)) {
      return AnswerOutcome{
          .exit_code = kTryLater,
          .failure = fmt::format("{} is still being written; no agent was asked", harmless(path))};
    }
    const bool is_answer = driver_.judge_now(exchange_, there) == bridge::AnswerState::answered;
    if (!is_answer || options_.existing == bridge::Existing::replace) return std::nullopt;
    return taken({}, std::move(*there.document));
  }

  // The reply with the answer that another writer has put into its place.
  AnswerOutcome taken(AnswerOutcome reply, contracts::BridgeResponse found) {
    json::ObjectText details = {{"request_id", request_.request_id},
                                {"phase_key", bridge::phase_key(exchange_)},
                                {"file", exchange_.response.path}};
    bridge::add_question(details, exchange_, found);
    if (const auto noted = driver_.note("answer.found", std::move(details)); !noted) {
      return unwritable(noted.error());
    }
    reply.response = std::move(found);
    return reply;
  }

  // The agents to try, in their order: the one that was wanted; else the one that the request
  // names, and the default one where nobody has that name.
  std::vector<std::string> candidates() const {
    if (!options_.agent.empty()) return {options_.agent};
    if (!agents_.may_have(request_.agent_name)) return {std::string()};
    return {request_.agent_name, std::string()};
  }

  AnswerOutcome ask(std::optional<AskedRequest> earlier) {
    if (earlier) {
      const TurnEnd end = turn(*earlier);
      if (!is_lost(end, *earlier)) return reply_of(end, *earlier);
    }
    AnswerOutcome reply;
    for (const std::string& agent : candidates()) {
      const auto opened = client_->open_session(agent);
      if (!opened) {
        reply = {.exit_code = opened.error().exit_code, .failure = opened.error().text};
        if (opened.error().code == "agent_not_found") continue;
        return reply;
      }
      // A name of its own for the turn: a turn that follows the one that the session was opened
      // with would have an id that nobody knows who wants to cancel it.
      const AskedRequest asked{request_.request_id, opened->session_id, new_uuid(), agent,
                               timestamp_now()};
      if (const auto noted = note(asked); !noted) return unwritable(noted.error());
      const TurnEnd end = turn(asked);
      reply = reply_of(end, asked);
      if (error_code_of(end) != "agent_not_found") return reply;
    }
    return reply;
  }

  // A turn that was begun before, and of which nothing can come any more: somebody gave it up, or
  // what was asked then is not what is asked now.
  bool is_lost(const TurnEnd& end, const AskedRequest& earlier) const {
    const std::string_view code = error_code_of(end);
    constexpr std::array<std::string_view, 7> kLost = {
        "idempotency_conflict", "agent_not_found", "agent_mismatch", "session_not_found",
        "turn_in_progress",     "turn_superseded", "turn_expired"};
    if (std::ranges::find(kLost, code) != kLost.end()) return true;
    return code == "turn_cancelled" && !is_overdue(earlier);
  }

  bool is_overdue(const AskedRequest& asked) const {
    const auto began = seconds_of_timestamp(asked.at);
    const auto now = seconds_of_timestamp(timestamp_now());
    return began && now && *now - *began >= static_cast<double>(request_.timeout_seconds);
  }

  std::expected<void, Error> note(const AskedRequest& asked) {
    return driver_.note("request.asked", with_options({{"request_id", asked.request_id},
                                                       {"session_id", asked.session_id},
                                                       {"turn_id", asked.turn_id},
                                                       {"agent", asked.agent}}));
  }

  // Adds the options of this command, so that the same agent can be asked again.
  json::ObjectText with_options(json::ObjectText details) const {
    if (options_.words.empty()) return details;
    std::error_code ignored;
    details.add("options", options_.words);
    details.add("from", std::filesystem::current_path(ignored).string());
    return details;
  }

  TurnEnd turn(const AskedRequest& asked) {
    Signals none{};
    const auto canceller = agents_.open_client(none, {});
    told_.clear();
    {
      const MutexLock lock(mutex_);
      last_failure_.clear();
    }
    Conversation conversation(*client_, signals_,
                              {.command = options_.command,
                               .tools = tools(),
                               .quiet_text = true,
                               .tell = [this](const std::string& lines) { told_ += lines; }});
    const auto began = Clock::now();
    Repeater deadline(most(), [&] { canceller->cancel(asked.session_id, asked.turn_id); });
    TurnEnd end =
        conversation.turn({asked.session_id, asked.turn_id, turn_of(request_, asked.agent)});
    expired_ = deadline.has_acted();
    took_ = std::chrono::duration<double>(Clock::now() - began).count();
    return end;
  }

  // No tool runs longer than the request waits.
  ClientTools tools() const {
    ClientTools tools = options_.tools;
    tools.time_limit = std::min<std::chrono::milliseconds>(tools.time_limit, most());
    return tools;
  }

  std::chrono::seconds most() const {
    return std::chrono::seconds(std::min(request_.timeout_seconds, kLongestWait));
  }

  AnswerOutcome reply_of(const TurnEnd& end, const AskedRequest& asked) {
    const std::string_view code = error_code_of(end);
    const bool is_timeout = (expired_ || is_overdue(asked)) && code == "turn_cancelled";
    if (end.signal != 0 && (!end.result || code == "turn_cancelled")) {
      return {.signal = end.signal};
    }
    may_go_on_ = !end.result;
    if (!end.result || std::ranges::find(kNotAsked, code) != kNotAsked.end()) {
      return {.exit_code = end.exit_code == kOk ? kViolated : end.exit_code,
              .failure = std::string(without_command(trimmed(told_)))};
    }
    const auto view = client_->agent_result(asked.session_id, asked.turn_id);
    const bool is_success =
        std::holds_alternative<contracts::AgentExecuteResponse>(end.result->outcome);
    if (!view && is_success) {  // The gateway keeps the answer: it is asked for again.
      may_go_on_ = true;
      return {.exit_code = view.error().exit_code, .failure = view.error().text};
    }
    const std::optional<AgentResult> said = view ? std::optional(*view) : std::nullopt;
    const AgentResult result = is_timeout ? timed_out(request_.timeout_seconds, last_failure())
                                          : result_of(*end.result, said);
    return {.response = response_of(result, asked, said), .signal = end.signal};
  }

  contracts::BridgeResponse response_of(const AgentResult& result, const AskedRequest& asked,
                                        const std::optional<AgentResult>& said) const {
    const bridge::Envelope envelope{.request_id = request_.request_id,
                                    .created_at = timestamp_now(),
                                    .duration_seconds = took_};
    const bridge::AnsweredBy who = answered_by(asked.agent, said);
    auto response = bridge::response_of(result, envelope, who);
    if (contracts::encode(response).size() > bridge::kLargestFile) {
      response = bridge::response_of(too_large(), envelope, who);
    }
    const auto wanted = said ? unfollowed_model(request_, *said) : std::nullopt;
    if (!wanted) return response;
    response.metadata.set("requested_model", *wanted);
    tell(
        fmt::format("the request names the model {}, but the agent {} asked {}: the configuration "
                    "of the agent chooses the model",
                    harmless(*wanted), harmless(who.agent),
                    who.model.empty() ? "a backend without models" : harmless(who.model)));
    return response;
  }

  std::string last_failure() {
    const MutexLock lock(mutex_);
    return last_failure_;
  }

  void tell(const std::string& text) const {
    if (options_.tell) options_.tell(exchange_, text);
  }

  // Whoever tells it names the command himself.
  std::string_view without_command(std::string_view told) const {
    const std::string named = fmt::format("treaty {}: ", options_.command);
    return told.starts_with(named) ? told.substr(named.size()) : told;
  }

  AnswerOutcome written(AnswerOutcome reply) {
    const auto written = driver_.write_answer(exchange_, *reply.response, options_.existing);
    if (written) return reply;
    auto there = bridge::read_response(exchange_.response.path, exchange_.request.document);
    if (driver_.judge_now(exchange_, there) != bridge::AnswerState::answered) {
      return unwritable(written.error());
    }
    return taken(std::move(reply), std::move(*there.document));
  }

  AnswerOutcome unwritable(const Error& error) const {
    std::string failure = text_of(error);
    const auto folder = std::filesystem::path(exchange_.response.path).parent_path();
    std::error_code ignored;
    if (!folder.empty() && !std::filesystem::exists(folder, ignored)) {
      failure += fmt::format("\nNext: mkdir -p {}", shell_word(harmless(folder.string())));
    }
    return {.exit_code = exit_code_of(error), .failure = std::move(failure)};
  }

  bridge::Driver& driver_;
  AgentClients& agents_;
  Signals& signals_;
  const Exchange& exchange_;
  const contracts::BridgeRequest& request_;
  const AskOptions& options_;
  Mutex mutex_;
  // Of the last turn: the newest attempt that failed. The client's thread writes it.
  std::string last_failure_ TREATY_GUARDED_BY(mutex_){};
  std::unique_ptr<GatewayClient> client_;
  std::string told_{};      // What the conversation had to say beside the answer.
  bool expired_ = false;    // Of the last turn,
  double took_ = 0;         // in seconds.
  bool may_go_on_ = false;  // Nothing was heard of it: its turn may run, and is asked for again.
};

// The options about who is asked, each with its value.
std::vector<std::string> given_words(const Arguments& arguments) {
  std::vector<std::string> words;
  for (const Option& option : asking_options()) {
    if (const auto one = arguments.options.find(option.name); one != arguments.options.end()) {
      words.insert(words.end(), {option.name, one->second});
    }
    if (const auto many = arguments.lists.find(option.name); many != arguments.lists.end()) {
      for (const std::string& value : many->second) {
        words.insert(words.end(), {option.name, value});
      }
    }
  }
  return words;
}

}  // namespace

std::vector<Option> asking_options() {
  return joined({{{"--agent", "NAME", "Who answers (the agent_name of the request, else default)"}},
                 client_tool_options(),
                 remote_options(),
                 configuration_options()});
}

Result<AskOptions> read_ask_options(std::string_view command, const Arguments& arguments) {
  TREATY_TRY(auto tools, read_client_tools(arguments));
  return AskOptions{
      .command = std::string(command),
      .agent = arguments.get("--agent"),
      .words = given_words(arguments),
      .tools = std::move(tools),
      .tell = [name = std::string(command)](const Exchange& exchange, const std::string& text) {
        tell_beside_counter(fmt::format("treaty {}: {}: {}", name, phase_text(exchange), text));
      }};
}

Result<std::unique_ptr<AgentClients>> open_agent_clients(std::string_view command,
                                                         const Arguments& arguments,
                                                         const OpenGateway& open,
                                                         std::span<const std::string> directories) {
  TREATY_TRY(auto address, read_remote_address(arguments));
  if (address) return std::make_unique<RemoteAgentClients>(*std::move(address));
  return open_own_agents(command, arguments, open, directories);
}

FailureParts parts_of(const std::string& failure) {
  constexpr std::string_view kNext = "\nNext: ";
  const std::size_t end = failure.find(kNext);
  if (end == std::string::npos) return {failure};
  return {failure.substr(0, end), failure.substr(end + kNext.size())};
}

AnswerOutcome answer_request(bridge::Driver& driver, AgentClients& agents, Signals& signals,
                             const Exchange& exchange, const std::optional<AskedRequest>& earlier,
                             const AskOptions& options) {
  return Inquiry(driver, agents, signals, exchange, options).run(earlier);
}

AnswerOutcome answer_shown(bridge::Driver& driver, AgentClients& agents, Signals& signals,
                           const Exchange& exchange, const AskOptions& options) {
  const contracts::BridgeRequest& request = *exchange.request.document;
  const auto questions = bridge::open_requests(driver.history());
  const auto asked = questions.find(request.request_id);
  const Waiting waiting(exchange, options.agent.empty() ? request.agent_name : options.agent);
  return answer_request(driver, agents, signals, exchange,
                        asked == questions.end() ? std::nullopt : std::optional(asked->second),
                        options);
}

}  // namespace treaty::cli
