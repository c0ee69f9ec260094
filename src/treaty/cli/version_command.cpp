#include "treaty/cli/commands.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli::version {
namespace {

int run(const Arguments& arguments) {
  if (wants_json(arguments)) {
    print("{{\"name\":\"treaty\",\"version\":\"{}\"}}\n", TREATY_VERSION);
  } else {
    print("treaty {}\n", TREATY_VERSION);
  }
  return kOk;
}

}  // namespace

Command command() {
  return {
      .name = "version",
      .summary = "Print the version",
      .description = "The version of the program and of the library it is made of.",
      .options = {format_option("How to print")},
      .examples = {{"version --format json", "For scripts"}},
      .run = run,
  };
}

}  // namespace treaty::cli::version
