// `treaty chat`: talks to a gateway over HTTP; to one in this process when no address is given.
#include <unistd.h>

#include <csignal>

#include "treaty/base/hash.h"
#include "treaty/base/ids.h"
#include "treaty/cli/chat/chat.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/shared/configured.h"
#include "treaty/cli/shared/remote_address.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli::chat {
namespace {

// What the words say that needs no network yet.
struct Wanted {
  ChatOptions chat{};
  RemoteAddress address{};
};

std::expected<Wanted, BadAddress> read_wanted(const Arguments& arguments) {
  Wanted wanted{.chat = {.url = arguments.get("--url"),
                         .session = arguments.get("--session"),
                         .agent = arguments.get("--agent")}};
  auto tools = read_client_tools(arguments);
  if (!tools) return std::unexpected(BadAddress{kWrongUsage, tools.error()});
  wanted.chat.tools = *std::move(tools);
  auto address = read_remote_address(arguments);
  if (!address) return std::unexpected(address.error());
  if (*address) wanted.address = **std::move(address);
  return wanted;
}

int converse(Wanted wanted, Signals& signals) {
  RemoteClient client(std::move(wanted.address), signals);
  LineInput input(STDIN_FILENO, signals);
  return Chat(client, input, signals, std::move(wanted.chat)).run();
}

// A key of this moment keeps everybody else on this machine out.
int chat_with_own(Wanted wanted, const Arguments& arguments, const OpenGateway& open,
                  Signals& signals) {
  auto configuration = load_private_configuration("chat", arguments);
  if (!configuration) return kBadConfiguration;
  const std::string key = new_uuid();
  Sha256 digest;
  digest.add(key);
  configuration->keys = {{.tenant = "local", .sha256 = digest.hex()}};
  configuration->workers = 1;
  auto gateway = open_gateway("chat", open, *configuration);
  if (!gateway) return gateway.error();
  const auto port = (*gateway)->listen();
  if (!port) return tell_error("chat", port.error());
  for (const std::string& note : configuration->notes) print_error("{}\n", harmless(note));
  wanted.address = {.url = {.host = "127.0.0.1", .port = *port, .target = "/"},
                    .text = "the gateway of this process",
                    .key = key,
                    .through_proxy = false};
  const int code = converse(std::move(wanted), signals);
  signals.let_go();
  (*gateway)->stop();
  return code;
}

int run(const Arguments& arguments, const OpenGateway& open) {
  auto wanted = read_wanted(arguments);
  if (!wanted && wanted.error().exit_code == kWrongUsage) {
    return wrong_usage("chat", wanted.error().message);
  }
  if (!wanted) {
    print_error("treaty chat: {}\n", wanted.error().message);
    return wanted.error().exit_code;
  }
  Signals signals{SIGINT, SIGTERM};
  if (!wanted->chat.url.empty()) return converse(*std::move(wanted), signals);
  return chat_with_own(*std::move(wanted), arguments, open, signals);
}

std::vector<Option> options() {
  std::vector<Option> all = remote_options();
  all.push_back({"--session", "ID", "Go on with this session; else a new one"});
  all.push_back({"--agent", "NAME", "Which agent (default)"});
  for (Option& option : client_tool_options()) all.push_back(std::move(option));
  for (Option& option : configuration_options()) all.push_back(std::move(option));
  return all;
}

}  // namespace

Command command(OpenGateway open) {
  return {
      .name = "chat",
      .positionals = "",
      .summary = "Talk to an agent in the terminal, or through pipes",
      .description =
          "Every line is a turn; the answer is printed as it comes. Client tools are run by the\n"
          "commands given with --tool: arguments as JSON on stdin and in TREATY_TOOL_ARGUMENTS, "
          "the\n"
          "result on stdout, a failure by the exit code and stderr. Without a command you are "
          "asked\n"
          "to type the result. Ctrl-C cancels the turn that runs, Ctrl-D leaves; /help lists the\n"
          "rest. A connection that breaks is taken up again where it was cut. With --session, a "
          "turn\n"
          "that was left waiting for its tools goes on first, or is given up by /cancel.\n"
          "Exit: 0 left, 1 the last failed turn failed for good, 2 wrong usage, 69 nobody there, "
          "75\n"
          "try again later, 78 bad configuration, 130 interrupted.",
      .options = options(),
      .examples = {{"chat", "With a gateway in this process"},
                   {"chat --url http://127.0.0.1:8088 --tool get_time='date +%s'",
                    "With one that runs already, and a tool of yours"},
                   {"chat --session ID", "Where you left"},
                   {"chat < questions.txt > answers.txt", "A line is a turn"}},
      .run = [open = std::move(open)](const Arguments& arguments) { return run(arguments, open); },
  };
}

}  // namespace treaty::cli::chat
