// `treaty run`: one turn in this process, without a server.
#include <fmt/format.h>

#include <csignal>

#include "treaty/cli/run/run_request.h"
#include "treaty/cli/running/configured.h"
#include "treaty/cli/running/invoke_report.h"
#include "treaty/cli/running/running_commands.h"
#include "treaty/cli/running/talk.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli {
namespace {

using contracts::AgentExecuteResponse;

// The gateway of this very process.
class LocalDoor : public Door {
 public:
  LocalDoor(Gateway& gateway, Signals& signals) : gateway_(gateway), signals_(signals) {}

  // The first signal cancels the turn; the second one ends the process.
  Answer ask(const contracts::AgentExecuteRequest& request, const OnText& on_text) override {
    Answer answer;
    if (const auto early = signals_.take()) return {.signal = *early};
    do_watched(
        signals_, [&] { answer.invoke_result = gateway_.execute(request, on_text); },
        [&](int number) {
          signal_ = number;
          signals_.let_go();
          gateway_.cancel(request.session_id, request.turn_id);
        });
    answer.signal = signal_;
    return answer;
  }

  bool cancel(const std::string& session_id, const std::string& turn_id) override {
    gateway_.cancel(session_id, turn_id);
    return true;
  }

 private:
  Gateway& gateway_;
  Signals& signals_;
  int signal_ = 0;
};

// Tools that the agent does not declare are never called: better told than wondered about.
void warn_of_unknown_tools(const ClientTools& tools, const config::Configuration& configuration,
                           const std::string& agent_name) {
  const auto agent = configuration.turns.agents.find(agent_name);
  if (agent == configuration.turns.agents.end()) return;
  const auto declares = [&](const turns::Role& role, const std::string& name) {
    return std::ranges::any_of(
        role.tools, [&](const turns::ClientTool& tool) { return tool.declaration.name == name; });
  };
  for (const auto& [name, command] : tools.commands) {
    const auto& roles = agent->second.conversations;
    const bool known =
        declares(agent->second.role, name) ||
        std::ranges::any_of(roles, [&](const auto& entry) { return declares(entry.second, name); });
    if (known) continue;
    print_error("warning: the agent {} declares no client tool {}, so it will not be called\n",
                harmless(agent_name), name);
  }
}

void tell_ids(const TurnEnd& end, const contracts::AgentExecuteRequest& request) {
  std::string session = request.session_id;
  std::string turn = request.turn_id;
  std::string tokens;
  if (end.result) {
    if (const auto* response = std::get_if<AgentExecuteResponse>(&end.result->outcome)) {
      session = response->session_id;
      turn = response->turn_id;
      tokens = tokens_text(*response);
    }
  }
  print_error("session {} · turn {}{}{}\n", harmless(session), harmless(turn),
              tokens.empty() ? "" : " · ", tokens);
}

int run(const Arguments& arguments, const OpenGateway& open) {
  auto tools = read_client_tools(arguments);
  if (!tools) return wrong_usage("run", tools.error());
  const auto request = read_run_request(arguments);
  if (!request) return wrong_usage("run", request.error());
  auto configuration = load_private_configuration("run", arguments);
  if (!configuration) return kBadConfiguration;
  // A session without a name given is this turn's own; nobody else opens it.
  if (!arguments.has("--session")) configuration->turns.explicit_sessions = false;
  configuration->workers = 1;
  warn_of_unknown_tools(*tools, *configuration, arguments.get("--agent", "default"));

  Signals signals{SIGINT, SIGTERM};
  auto gateway = open_gateway("run", open, *configuration);
  if (!gateway) return gateway.error();
  const bool json = arguments.get("--format") == "json";
  LocalDoor door(**gateway, signals);
  const TurnEnd end =
      Talk(door, signals, {.command = "run", .tools = *std::move(tools), .quiet_text = json})
          .turn(*request);
  if (json && !end.invoke_result.empty()) print("{}\n", end.invoke_result);
  std::fflush(stdout);
  tell_ids(end, *request);
  return end.signal != 0 ? 128 + end.signal : end.exit_code;
}

std::vector<Option> options() {
  std::vector<Option> all = {{"--agent", "NAME", "Which agent of the configuration (default)"},
                             {"--session", "ID", "Go on with this session; else a new one"},
                             {"--file", "FILE", "Hand over a file, as an InputArtifact", {}, true},
                             {"--image", "FILE", "A PNG, JPEG, GIF or WebP to look at", {}, true}};
  for (Option& option : client_tool_options()) all.push_back(std::move(option));
  all.push_back({"--no-stream", "", "Print the text when it is whole"});
  for (Option& option : configuration_options()) all.push_back(std::move(option));
  all.push_back({"--format", "", "The text, or the whole InvokeResult", {"human", "json"}});
  return all;
}

}  // namespace

Command run_command(OpenGateway open) {
  return {
      .name = "run",
      .positionals = "TEXT|-",
      .summary = "Run one turn of an agent in this process, without a server",
      .description =
          "The text goes to stdout as it comes; tools, session and turn go to stderr. The turn is\n"
          "journalled like any other: --session goes on with it, here or under `treaty serve`.\n"
          "Client tools of the agent are run by the commands given with --tool: the arguments "
          "come\n"
          "as JSON on stdin and in TREATY_TOOL_ARGUMENTS, what the command prints goes back to "
          "the\n"
          "model; when it fails, what it wrote to stderr.\n"
          "Exit: 0 answered, 1 failed, 2 wrong usage, 69 the journal is not usable, 75 try again\n"
          "later, 78 bad configuration, 130 interrupted.",
      .options = options(),
      .examples = {{"run \"What can you do?\"", "One answer"},
                   {"run --file notes.md \"Sum it up.\"", "About a file"},
                   {"run --tool get_time='date +%s' \"What time is it?\"", "With a client tool"},
                   {"run --session ID - < more.txt", "Go on, with text from standard input"}},
      .run = [open = std::move(open)](const Arguments& arguments) { return run(arguments, open); },
  };
}

}  // namespace treaty::cli
