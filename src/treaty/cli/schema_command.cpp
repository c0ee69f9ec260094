#include <fmt/format.h>

#include "treaty/cli/commands.h"
#include "treaty/cli/terminal.h"
#include "treaty/contracts/schemas.h"

namespace treaty::cli {
namespace {

int run(const Arguments& arguments) {
  if (arguments.positionals.empty()) {
    for (const contracts::Contract contract : contracts::kContracts) {
      print("{:16}  {}\n", contracts::name_of(contract), contracts::title_of(contract));
    }
    return kOk;
  }
  if (arguments.positionals.size() > 1) return wrong_usage("schema", "one contract at a time");
  const auto contract = contracts::contract_named(arguments.positionals[0]);
  if (!contract) {
    return wrong_usage("schema",
                       fmt::format("there is no contract \"{}\"; `treaty schema` lists them",
                                   arguments.positionals[0]));
  }
  const bool camel = arguments.get("--dialect") == "camel";
  if (camel && !contracts::has_dialects(*contract)) {
    return wrong_usage(
        "schema", fmt::format("{} has one dialect, snake_case", contracts::name_of(*contract)));
  }
  print("{}", contracts::schema_text(
                  *contract, camel ? contracts::Dialect::camel : contracts::Dialect::pascal));
  return kOk;
}

}  // namespace

Command schema_command() {
  return {
      .name = "schema",
      .positionals = "[CONTRACT]",
      .summary = "Print the JSON Schema (2020-12) of a contract",
      .description =
          "Without an argument: the contracts. A schema says what a schema can say;\n"
          "`treaty check` knows all the rules.",
      .options = {{"--dialect", "", "Spelling of names where there are two", {"pascal", "camel"}}},
      .examples = {{"schema response", "Of an AgentExecuteResponse"},
                   {"schema request --dialect camel", "For clients that write camelCase"}},
      .run = run,
  };
}

}  // namespace treaty::cli
