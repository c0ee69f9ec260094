// treaty classify: which of the eight errors a failed answer is.
#include <fmt/format.h>

#include "treaty/cli/answers/answer_input.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/terminal.h"
#include "treaty/results/errors.h"

namespace treaty::cli::classify {
namespace {

void print_error_for_people(const contracts::AgentError& error) {
  const bool colors = stdout_has_colors();
  print("{} ({})\n", painted(error.code.value_or("unknown"), Color::red, colors),
        error.retryable.value_or(false) ? "trying again may help" : "trying again does not help");
  if (error.status_code) print("  status   {}\n", *error.status_code);
  if (error.type) print("  type     {}\n", harmless(*error.type));
  print("  message  {}\n", harmless(error.message));
}

int run(const Arguments& arguments) {
  const bool as_json = arguments.has("--ndjson") || wants_json(arguments);
  return for_each_answer("classify", arguments, [&](const AnswerInput& answer) {
    const contracts::AgentError error = results::classify_error(
        {.status = answer.status, .headers = answer.headers, .body = answer.body});
    if (as_json) {
      print_document(contracts::encode(error) + "\n");
    } else {
      print_error_for_people(error);
    }
  });
}

}  // namespace

Command command() {
  return {
      .name = "classify",
      .positionals = "[FILE|-]",
      .summary = "Tell which error a failed answer is, and whether to try again",
      .description =
          R"(The answer is what `curl -i` prints, or {"status", "headers", "body", "provider"}.
Without a status there was no answer: the body then is what is known of the failure.
Reads standard input by default.)",
      .options = {{"--ndjson", "", "Every line is an answer; one error object a line"},
                  format_option("For people, or the AgentError")},
      .examples = {{"classify answer.txt", "One answer"},
                   {"classify --ndjson < answers.ndjson", "Many"}},
      .run = run,
  };
}

}  // namespace treaty::cli::classify
