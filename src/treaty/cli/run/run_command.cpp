// `treaty run`: one turn in this process, without a server.
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "treaty/base/json.h"
#include "treaty/base/try.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/run/run_request.h"
#include "treaty/cli/shared/configured.h"
#include "treaty/cli/shared/conversation.h"
#include "treaty/cli/shared/invoke_report.h"
#include "treaty/cli/shared/local_client.h"
#include "treaty/cli/shared/wait_notice.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli::run {
namespace {

using contracts::AgentExecuteResponse;

// Tools that the agent does not declare are never called: better told than wondered about.
void warn_of_unknown_tools(const ClientTools& tools, const config::Configuration& configuration,
                           const std::string& agent_name) {
  const turns::Agent* agent = configuration.turns.find_agent(agent_name);
  if (agent == nullptr) return;
  const auto declares = [&](const turns::AgentRole& role, const std::string& name) {
    return std::ranges::any_of(
        role.tools, [&](const turns::ClientTool& tool) { return tool.declaration.name == name; });
  };
  for (const auto& [name, command] : tools.commands) {
    const auto& roles = agent->conversations;
    const bool known =
        declares(agent->role, name) ||
        std::ranges::any_of(roles, [&](const auto& entry) { return declares(entry.second, name); });
    if (known) continue;
    print_error("warning: the agent {} declares no client tool {}, so it will not be called\n",
                harmless(agent->name), name);
  }
}

void tell_ids(const TurnEnd& end, const std::optional<contracts::AgentExecuteRequest>& request) {
  std::string session = request ? request->session_id : "";
  std::string turn = request ? request->turn_id : "";
  std::string tokens;
  if (end.result) {
    if (const auto* response = std::get_if<AgentExecuteResponse>(&end.result->outcome)) {
      session = response->session_id;
      turn = response->turn_id;
      tokens = tokens_text(*response);
    }
  }
  if (session.empty()) return;
  print_error("session {} · turn {}{}{}\n", harmless(session), harmless(turn),
              tokens.empty() ? "" : " · ", tokens);
}

// On a terminal the results of tools without a command are typed, unless the text is read from
// there.
AskUser asking(LineInput& input, const Arguments& arguments) {
  const bool reads_text = !arguments.positionals.empty() && arguments.positionals[0] == "-";
  if (!input.is_terminal() || reads_text) return {};
  return [&input](const tools::ToolInvocation& call) { return ask_result(input, call); };
}

TurnEnd tell_nothing_waits(const std::string& session) {
  print_error(
      "treaty run: no turn of session {} waits for tools\n"
      "Next: say something: treaty run --session {} TEXT\n",
      harmless(session), shell_word(harmless(session)));
  return {.exit_code = kViolated};
}

void tell_waiting(const OpenTurn& open, const std::string& session) {
  const std::string word = shell_word(harmless(session));
  print_error(
      "{}Next: treaty run --session {} --tool NAME=COMMAND, without a text, goes on with it;\n"
      "      treaty chat --session {} asks you for the results, and /cancel there gives it up\n",
      waiting_lines("run", open.invoke_result), word, word);
}

// The turn that waits in the session, when the words ask for nothing new; else a new one.
TurnEnd take_turn(Conversation& conversation, GatewayClient& client, const std::string& session,
                  const std::optional<contracts::AgentExecuteRequest>& request) {
  TurnEnd end = request ? conversation.turn(*request) : TurnEnd{};
  if (request && !is_in_progress(end.result)) return end;
  const auto open = client.open_turn(session);
  if (!open) {
    print_error("treaty run: {}\n", open.error().text);
    end.exit_code = open.error().exit_code;
    return end;
  }
  const bool waits = *open && !(*open)->invoke_result.empty();
  if (!request && !waits) return tell_nothing_waits(session);
  if (!request) end = conversation.resume((*open)->invoke_result);
  if (waits && (request || end.waits)) {
    tell_waiting(**open, session);
    end.exit_code = kViolated;  // It does not pass by itself.
  }
  return end;
}

// Waits, and on a terminal where an agent that is a machine is.
void tell_waits(std::string_view kind, std::string_view data) {
  if (const auto notice = notice_of(kind, data)) {
    print_error("treaty run: {}\n", notice->text);
  } else if (kind == "machine.state" && isatty(STDERR_FILENO) != 0) {
    const json::Document document(data);
    print_error("treaty run: {} is in {}\n", harmless(json::find_text(document.root(), "Machine")),
                harmless(json::find_text(document.root(), "State")));
  }
}

Result<int> run(const Arguments& arguments, const OpenGateway& open) {
  TREATY_TRY(auto tools, read_client_tools(arguments));
  TREATY_TRY(const auto request, read_run_request(arguments));
  TREATY_TRY(auto configuration, load_private_configuration("run", arguments));
  // A session without a name given is this turn's own; nobody else opens it.
  const bool is_own = !arguments.has("--session");
  configuration.workers = 1;
  if (is_own) {
    configuration.turns.explicit_sessions = false;
    warn_of_unknown_tools(tools, configuration, arguments.get("--agent", turns::kDefaultAgent));
  }

  Signals signals{SIGINT, SIGTERM};
  TREATY_TRY(const auto gateway, open_gateway(open, configuration));
  const bool json = wants_json(arguments);
  LocalClient client(*gateway, signals, tell_waits);
  LineInput input(STDIN_FILENO, signals);
  Conversation conversation(client, signals,
                            {.command = "run",
                             .tools = std::move(tools),
                             .quiet_text = json,
                             .ask_user = asking(input, arguments)});
  const TurnEnd end = take_turn(conversation, client, arguments.get("--session"), request);
  if (json && !end.invoke_result.empty()) print_document(end.invoke_result + "\n");
  std::fflush(stdout);
  tell_ids(end, request);
  return end.signal != 0 ? 128 + end.signal : end.exit_code;
}

}  // namespace

Command command(OpenGateway open) {
  return {
      .name = "run",
      .positionals = "[TEXT|-]",
      .summary = "Run one turn of an agent in this process, without a server",
      .description =
          R"(The text goes to stdout as it comes; tools, session and turn go to stderr. The turn is
journalled like any other: --session goes on with it, here or under `treaty serve`.
Client tools of the agent are run by the commands given with --tool: the arguments come
as JSON on stdin and in TREATY_TOOL_ARGUMENTS, what the command prints goes back to the
model; when it fails, what it wrote to stderr. Without a command you are asked to type
the result; where nobody can be asked, the tool fails. With --session and no text, the
turn that was left waiting for its tools goes on.
Exit: 0 answered, 1 failed, 2 wrong usage, 69 the journal is not usable, 75 try again
later, 78 bad configuration, 130 interrupted.)",
      .options = joined({{{"--agent", "NAME", "Which agent of the configuration (default)"},
                          {"--session", "ID", "Go on with this session; else a new one"},
                          {"--file", "FILE", "Hand over a file, as an InputArtifact", {}, true},
                          {"--image", "FILE", "A PNG, JPEG, GIF or WebP to look at", {}, true}},
                         client_tool_options(),
                         {{"--no-stream", "", "Print the text when it is whole"}},
                         configuration_options(),
                         {format_option("The text, or the whole InvokeResult")}}),
      .examples = {{"run \"What can you do?\"", "One answer"},
                   {"run --file notes.md \"Sum it up.\"", "About a file"},
                   {"run --tool get_time='date +%s' \"What time is it?\"", "With a client tool"},
                   {"run --session ID - < more.txt", "Go on, with text from standard input"}},
      .run = [open = std::move(open)](const Arguments& arguments) { return run(arguments, open); },
  };
}

}  // namespace treaty::cli::run
