#include <fmt/format.h>

#include <algorithm>
#include <expected>
#include <optional>

#include "treaty/base/json.h"
#include "treaty/base/json_text.h"
#include "treaty/base/schema/schema.h"
#include "treaty/base/text.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/contract_words.h"
#include "treaty/cli/input.h"
#include "treaty/cli/terminal.h"
#include "treaty/contracts/schemas.h"

namespace treaty::cli::schemas {
namespace {

using schema::Schema;

constexpr std::size_t kLargest = std::size_t{16} << 20U;

// The verdict on one value, as NDJSON has it; answers the exit code.
int print_verdict(const std::optional<Schema::Mismatch>& mismatch) {
  json::ObjectText verdict{{"valid", !mismatch}};
  if (mismatch) {
    verdict.add("where", mismatch->where);
    verdict.add("message", mismatch->message);
  }
  print_json(verdict);
  return mismatch ? kViolated : kOk;
}

int print_refusal(std::string_view message, std::string_view where = {}) {
  print_json({{"refused", message}, {"where", where}});
  return kViolated;
}

// A line is {"schema": …, "data": …}.
int judge_pair(const std::string& line, std::size_t /*number*/) {
  const json::Document document(line, {.max_size = kLargest, .max_depth = 130, .max_faults = 1});
  const auto root = document.faults().empty() ? document.root() : std::nullopt;
  const bool whole = root && root->is_object();
  const auto rules = whole ? root->members().find("schema") : std::nullopt;
  const auto data = whole ? root->members().find("data") : std::nullopt;
  if (!rules || !data) {
    const std::string message = document.faults().empty()
                                    ? "expected {\"schema\": …, \"data\": …}"
                                    : fmt::format("is not JSON: {}", document.faults()[0].message);
    return print_refusal(message);
  }
  const auto compiled = Schema::compile(rules->source());
  if (!compiled) return print_refusal(compiled.error().message, compiled.error().where);
  return print_verdict(compiled->mismatch_of_text(data->source()));
}

int judge_pairs(const std::vector<std::string>& paths) {
  int code = kOk;
  for (const std::string& path : paths) {
    code = std::max(code, for_each_line(path, kLargest, judge_pair));
  }
  return code;
}

int judge_file(const Schema& schema, const std::string& path) {
  const auto text = read_input(path, kLargest);
  if (!text) return tell_unreadable(text.error());
  const auto mismatch = schema.mismatch_of_text(*text);
  print("{}: {}\n", harmless(path),
        mismatch ? text_of({ErrorCode::not_a_document, mismatch->message, mismatch->where})
                 : "valid");
  return mismatch ? kViolated : kOk;
}

int validate(const Arguments& arguments, const std::vector<std::string>& paths) {
  const std::string path = arguments.get("--validate");
  const auto text = read_input(path, kLargest);
  if (!text) {
    tell_unreadable(text.error());
    return kBadConfiguration;
  }
  const auto compiled = Schema::compile(*text);
  if (!compiled) {
    print_error("{}: {}\n", harmless(path), text_of(compiled.error()));
    return kBadConfiguration;
  }
  int code = kOk;
  for (const std::string& one : paths) {
    if (!arguments.has("--ndjson")) {
      code = std::max(code, judge_file(*compiled, one));
      continue;
    }
    code = std::max(code, for_each_line(one, kLargest, [&](const std::string& line, std::size_t) {
                      return print_verdict(compiled->mismatch_of_text(line));
                    }));
  }
  return code;
}

Result<int> print_schema(const Arguments& arguments) {
  if (arguments.positionals.empty()) {
    for (const contracts::Contract contract : contracts::kContracts) {
      print("{:16}  {}\n", contracts::name_of(contract), contracts::title_of(contract));
    }
    return kOk;
  }
  if (arguments.positionals.size() > 1) return misused("one contract at a time");
  const auto contract = contracts::contract_named(arguments.positionals[0]);
  if (!contract) {
    return misused(fmt::format("there is no contract \"{}\"; `treaty schema` lists them",
                               arguments.positionals[0]));
  }
  const bool camel = arguments.get("--dialect") == "camel";
  if (camel && !contracts::has_dialects(*contract)) {
    return misused(fmt::format("{} has one dialect, snake_case", contracts::name_of(*contract)));
  }
  print("{}", contracts::schema_text(
                  *contract, camel ? contracts::Dialect::camel : contracts::Dialect::pascal));
  return kOk;
}

Result<int> run(const Arguments& arguments) {
  const bool validates = arguments.has("--validate");
  if (!validates && !arguments.has("--ndjson")) return print_schema(arguments);
  if (arguments.get("--dialect") == "camel") {
    return misused("--dialect is for the schemas of contracts");
  }
  std::vector<std::string> paths = arguments.positionals;
  if (paths.empty()) paths.emplace_back("-");
  const auto from_stdin = std::ranges::count(paths, "-");
  if (from_stdin + (arguments.get("--validate") == "-" ? 1 : 0) > 1) {
    return misused("standard input can be read once");
  }
  return validates ? validate(arguments, paths) : judge_pairs(paths);
}

}  // namespace

Command command() {
  return {
      .name = "schema",
      .positionals = "[CONTRACT|FILE...]",
      .summary = "Print the JSON Schema (2020-12) of a contract, or validate by one of yours",
      .description = R"(Without an argument: the contracts. A schema says what a schema can say;
`treaty check` knows all the rules.
With --validate: whether values fit a schema, as the parameters of a tool are
validated. A schema that uses what is not supported is refused (exit 78).)",
      .options = {{"--dialect", "", "Spelling of names where there are two", {"pascal", "camel"}},
                  {"--validate", "SCHEMA", "Validate the files by the schema in this file"},
                  {"--ndjson", "",
                   "Every line is a value, or {\"schema\", \"data\"} without --validate"}},
      .examples = {{"schema response", "Of an AgentExecuteResponse"},
                   {"schema request --dialect camel", "For clients that write camelCase"},
                   {"schema --validate parameters.json arguments.json",
                    "Whether a model's arguments fit a tool"}},
      .words = contract_words(),
      .run = run,
  };
}

}  // namespace treaty::cli::schemas
