// `treaty chat`: talks to a gateway over HTTP; to one in this process when no address is given.
#include <unistd.h>

#include <csignal>
#include <optional>
#include <string>
#include <string_view>

#include "treaty/base/hash.h"
#include "treaty/base/ids.h"
#include "treaty/base/text.h"
#include "treaty/base/try.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/run/run_request.h"
#include "treaty/cli/shared/configured.h"
#include "treaty/cli/shared/conversation.h"
#include "treaty/cli/shared/invoke_report.h"
#include "treaty/cli/shared/program_name.h"
#include "treaty/cli/shared/remote_client.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli::chat {
namespace {

struct ChatOptions {
  std::string url{};      // As the user wrote it; empty: the gateway of this process.
  std::string session{};  // Empty: opened with the first line.
  std::string agent{};
  ClientTools tools{};
};

using contracts::AgentExecuteResponse;
using contracts::UserTurn;
using Kind = LineInput::Read::Kind;

constexpr std::string_view kHelp =
    "A line is sent to the agent. Ctrl-C cancels the turn that runs, Ctrl-D leaves.\n"
    "  /session        which session this is, and how to come back to it\n"
    "  /new            begin a new session with the next line\n"
    "  /branch [TURN]  go on in a new session from that turn; without one, from the newest\n"
    "  /retry          send the last line again: same ids, so that nothing runs twice; in a "
    "session\n"
    "                  that was resumed, go on with the tools that its newest turn waits for\n"
    "  /cancel         give up the newest turn, if it runs or waits for tools\n"
    "  /quit           leave; a turn that waits for tools goes on waiting\n"
    "  //TEXT          a line that begins with /\n";

// On a terminal the results of tools without a command are typed.
AskUser asking(LineInput& input) {
  if (!input.is_terminal()) return {};
  return [&input](const tools::ToolInvocation& call) { return ask_result(input, call); };
}

class Chat {
 public:
  Chat(RemoteClient& client, LineInput& input, Signals& signals, ChatOptions options)
      : client_(client),
        input_(input),
        options_(std::move(options)),
        conversation_(client, signals,
                      {.command = "chat",
                       .tools = options_.tools,
                       .colors = stdout_has_colors() && isatty(STDERR_FILENO) == 1,
                       .ask_user = asking(input)}) {}

  // Until the input ends, the user leaves, or nobody is reachable. Answers the exit code.
  int run() {
    if (input_.is_terminal()) print_error("/help tells what can be typed; Ctrl-D leaves.\n");
    Verdict verdict = options_.session.empty() ? std::nullopt : resume();
    while (!verdict) verdict = read_and_take();
    if (!options_.session.empty()) print_error("Go on with: {}\n", resume_command());
    return *verdict;
  }

 private:
  // Nothing: go on. Else leave with that code.
  using Verdict = std::optional<int>;

  Verdict read_and_take() {
    const auto read = input_.next("› ");
    switch (read.kind) {
      case Kind::line: return take(read.line);
      case Kind::signal: return on_signal(read.signal);
      case Kind::end:
        if (input_.is_terminal()) print_error("\n");
        return worst_;
      case Kind::too_long:
        print_error("treaty chat: a line is longer than {} MiB\n", LineInput::kLongest >> 20U);
        return kViolated;
    }
    return worst_;
  }

  // Twice in a row means it.
  Verdict on_signal(int number) {
    if (number != SIGINT || !input_.is_terminal() || was_interrupted_) return 128 + number;
    was_interrupted_ = true;
    print_error("\nCtrl-D or /quit leaves.\n");
    return std::nullopt;
  }

  Verdict take(const std::string& line) {
    was_interrupted_ = false;
    const std::string_view text = trimmed(line);
    if (text.empty()) return std::nullopt;
    if (text.starts_with("//")) return say(std::string(text.substr(1)));
    if (!text.starts_with('/')) return say(line);
    const std::size_t space = text.find(' ');
    const std::string_view rest = space == std::string_view::npos ? "" : text.substr(space);
    return obey(text.substr(0, space), trimmed(rest));
  }

  Verdict obey(std::string_view word, std::string_view rest) {
    if (word == "/quit" || word == "/exit") return worst_;
    if (word == "/help") {
      print_error("{}", kHelp);
    } else if (word == "/session") {
      tell_session();
    } else if (word == "/new") {
      options_.session.clear();
      last_turn_.clear();
      last_request_.reset();
      print_error("The next line begins a new session.\n");
    } else if (word == "/branch") {
      branch(rest);
    } else if (word == "/retry") {
      if (last_request_) return send();
      if (!options_.session.empty()) return resume();
      print_error("There is nothing to send again.\n");
    } else if (word == "/cancel") {
      cancel();
    } else {
      print_error(
          "There is no {}; /help lists what there is, //… sends a line that begins with /\n",
          harmless(word));
    }
    return std::nullopt;
  }

  std::string resume_command() const {
    std::string out = program_name() + " chat";
    if (!options_.url.empty()) out += " --url " + shell_word(harmless(options_.url));
    return out + " --session " + shell_word(harmless(options_.session));
  }

  void tell_session() const {
    if (options_.session.empty()) {
      print_error("There is no session yet; the first line opens one.\n");
      return;
    }
    print_error("session {}{}{}\n  {}\n", harmless(options_.session),
                last_turn_.empty() ? "" : " · last turn ", harmless(last_turn_), resume_command());
  }

  void branch(std::string_view turn_id) {
    if (options_.session.empty()) {
      print_error("There is no session yet to branch from.\n");
      return;
    }
    const auto opened = client_.branch(options_.session, std::string(turn_id));
    if (!opened) {
      failed(opened.error());
      return;
    }
    print_error("From here on in session {} (before: {})\n", harmless(opened->session_id),
                harmless(options_.session));
    options_.session = opened->session_id;
    last_turn_ = opened->turn_id;
    last_request_.reset();
  }

  Verdict say(const std::string& text) {
    if (options_.session.empty()) {
      const auto opened = client_.open_session(options_.agent);
      if (!opened) return failed(opened.error());
      options_.session = opened->session_id;
    }
    UserTurn turn{.instruction = text, .streaming = true};
    if (!options_.agent.empty()) turn.agent_context_id = options_.agent;
    last_request_ = {options_.session, new_uuid(), std::move(turn)};
    return send();
  }

  Verdict send() {
    if (const std::string broken = violations_of(*last_request_); !broken.empty()) {
      print_error("treaty chat: this cannot be sent: {}\n", broken);
      worst_ = kViolated;
      return std::nullopt;
    }
    return after(conversation_.turn(*last_request_));
  }

  // The turn that the session was left with: its tools are run, or asked for, before anything else.
  Verdict resume() {
    const auto open = client_.open_turn(options_.session);
    if (!open) return failed(open.error());
    if (!*open) return std::nullopt;
    if ((*open)->invoke_result.empty()) {
      print_error("Turn {} still runs: wait for its end, or /cancel it.\n",
                  harmless((*open)->turn_id));
      return std::nullopt;
    }
    const TurnEnd end = conversation_.resume((*open)->invoke_result);
    if (end.waits && end.result) {
      print_error("{}Next: give --tool NAME=COMMAND for each of them, or /cancel\n",
                  waiting_lines("chat", (*open)->invoke_result));
    }
    return after(end);
  }

  void cancel() {
    if (options_.session.empty()) {
      print_error("There is no session yet.\n");
      return;
    }
    const auto open = client_.open_turn(options_.session);
    if (!open) {
      failed(open.error());
    } else if (!*open) {
      print_error("There is nothing to cancel.\n");
    } else {
      const bool heard = client_.cancel(options_.session, (*open)->turn_id);
      print_error("{}\n", heard ? "The turn is cancelled." : "Nobody heard it; try it again.");
    }
  }

  // In a pipe nobody types the next line in the light of a failure.
  Verdict failed(const ClientFailure& failure) {
    print_error("treaty chat: {}\n", failure.text);
    worst_ = failure.exit_code;
    return input_.is_terminal() ? std::nullopt : Verdict(worst_);
  }

  // In a pipe what cannot be reached ends it; anything else is told by the exit code at the end.
  Verdict after(const TurnEnd& end) {
    if (end.result) {
      if (const auto* response = std::get_if<AgentExecuteResponse>(&end.result->outcome)) {
        last_turn_ = response->turn_id;
      }
    }
    if (is_in_progress(end.result)) print_error("Next: wait for it to end, or /cancel it\n");
    if (end.exit_code != kOk && !end.waits) worst_ = end.exit_code;
    if (end.signal != 0) {
      const bool stays = end.signal == SIGINT && input_.is_terminal() && !end.invoke_result.empty();
      return stays ? std::nullopt : Verdict(128 + end.signal);
    }
    if (end.exit_code == kUnavailable && !input_.is_terminal()) return end.exit_code;
    return std::nullopt;
  }

  RemoteClient& client_;
  LineInput& input_;
  ChatOptions options_;
  Conversation conversation_;
  std::optional<contracts::AgentExecuteRequest> last_request_{};
  std::string last_turn_{};
  int worst_ = 0;                 // What the last failed turn ended with.
  bool was_interrupted_ = false;  // While nothing ran.
};

// What the words say that needs no network yet.
struct Wanted {
  ChatOptions chat{};
  RemoteAddress address{};
};

Result<Wanted> read_wanted(const Arguments& arguments) {
  Wanted wanted{.chat = {.url = arguments.get("--url"),
                         .session = arguments.get("--session"),
                         .agent = arguments.get("--agent")}};
  TREATY_TRY(wanted.chat.tools, read_client_tools(arguments));
  TREATY_TRY(auto address, read_remote_address(arguments));
  if (address) wanted.address = *std::move(address);
  return wanted;
}

int converse(Wanted wanted, Signals& signals) {
  RemoteClient client(std::move(wanted.address), signals);
  LineInput input(STDIN_FILENO, signals);
  return Chat(client, input, signals, std::move(wanted.chat)).run();
}

// A key of this moment keeps everybody else on this machine out.
Result<int> chat_with_own(Wanted wanted, const Arguments& arguments, const OpenGateway& open,
                          Signals& signals) {
  TREATY_TRY(auto configuration, load_private_configuration("chat", arguments));
  const std::string key = new_uuid();
  configuration.keys = {{.tenant = "local", .sha256 = sha256_hex(key)}};
  configuration.workers = 1;
  TREATY_TRY(const auto gateway, open_gateway(open, configuration));
  TREATY_TRY(const auto port, map_error(gateway->listen(), failure_of));
  for (const std::string& note : configuration.notes) print_error("{}\n", harmless(note));
  wanted.address = {.url = {.host = "127.0.0.1", .port = port, .target = "/"},
                    .text = "the gateway of this process",
                    .key = key,
                    .through_proxy = false};
  const int code = converse(std::move(wanted), signals);
  signals.let_go();
  gateway->stop();
  return code;
}

Result<int> run(const Arguments& arguments, const OpenGateway& open) {
  TREATY_TRY(auto wanted, read_wanted(arguments));
  Signals signals{SIGINT, SIGTERM};
  if (!wanted.chat.url.empty()) return converse(std::move(wanted), signals);
  return chat_with_own(std::move(wanted), arguments, open, signals);
}

}  // namespace

Command command(OpenGateway open) {
  return {
      .name = "chat",
      .summary = "Talk to an agent in the terminal, or through pipes",
      .description =
          R"(Every line is a turn; the answer is printed as it comes. Client tools are run by the
commands given with --tool: arguments as JSON on stdin and in TREATY_TOOL_ARGUMENTS, the
result on stdout, a failure by the exit code and stderr. Without a command you are asked
to type the result. Ctrl-C cancels the turn that runs, Ctrl-D leaves; /help lists the
rest. A connection that breaks is taken up again where it was cut. With --session, a turn
that was left waiting for its tools goes on first, or is given up by /cancel.
Exit: 0 left, 1 the last failed turn failed for good, 2 wrong usage, 69 nobody there, 75
try again later, 78 bad configuration, 130 interrupted.)",
      .options = joined({remote_options(),
                         {{"--session", "ID", "Go on with this session; else a new one"},
                          {"--agent", "NAME", "Which agent (default)"}},
                         client_tool_options(),
                         configuration_options()}),
      .examples = {{"chat", "With a gateway in this process"},
                   {"chat --url http://127.0.0.1:8088 --tool get_time='date +%s'",
                    "With one that runs already, and a tool of yours"},
                   {"chat --session ID", "Where you left"},
                   {"chat < questions.txt > answers.txt", "A line is a turn"}},
      .run = [open = std::move(open)](const Arguments& arguments) { return run(arguments, open); },
  };
}

}  // namespace treaty::cli::chat
