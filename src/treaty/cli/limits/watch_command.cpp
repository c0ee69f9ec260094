// `treaty limits watch`: the quota pools and budgets of a gateway, live in the terminal.
#include <csignal>

#include "treaty/cli/commands.h"
#include "treaty/cli/limits/limits_watch.h"
#include "treaty/cli/shared/remote_address.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli::limits_watch {
namespace {

constexpr const char* kUsualUrl = "http://127.0.0.1:8088";

WatchForm form_of(const Arguments& arguments) {
  if (arguments.get("--format") == "json") return WatchForm::json;
  return stdout_is_screen() ? WatchForm::screen : WatchForm::table;
}

int run(Arguments arguments) {
  arguments.options.emplace("--url", kUsualUrl);
  auto address = read_remote_address(arguments);
  if (!address && address.error().exit_code == kWrongUsage) {
    return wrong_usage(kLimitsWatch, address.error().message);
  }
  if (!address) {
    print_error("treaty {}: {}\n", kLimitsWatch, address.error().message);
    return address.error().exit_code;
  }
  Signals signals{SIGINT, SIGTERM, SIGTSTP};
  LimitsWatch watch(**std::move(address), signals, form_of(arguments));
  return arguments.has("--once") ? watch.look_once() : watch.run();
}

}  // namespace

Command command() {
  return {
      .name = "watch",
      .positionals = "",
      .summary = "Show the quota pools and budgets of a gateway, live",
      .description =
          "Asks GET /v1/limits every second. On a terminal it draws in place: a bar for each "
          "window\n"
          "(what is left of it), the time to its reset, who waits and runs, the breaker, and the\n"
          "budgets of the day. Elsewhere it prints a table whenever something has changed. A "
          "gateway\n"
          "that is gone is asked on until it is back; with --once that is exit 69.\n"
          "Exit: 0 shown, or left with Ctrl-C, 1 not an answer of a gateway, 2 wrong usage, 69 "
          "nobody\n"
          "there, 75 try again later, 78 a key or an address is wrong.",
      .options = {{"--url", "URL", "The gateway (http://127.0.0.1:8088 unless given)"},
                  {"--key-env", "NAME", "The variable that holds the gateway's key"},
                  {"--once", "", "Show it once and leave"},
                  {"--format", "", "For people, or each answer as a line", {"human", "json"}}},
      .examples = {{"limits watch", "The gateway of this machine"},
                   {"limits watch --url https://gateway.example --key-env GATEWAY_KEY",
                    "One elsewhere, with a key"},
                   {"limits watch --once --format json", "For a program"}},
      .run = run,
  };
}

}  // namespace treaty::cli::limits_watch
