// treaty limits: what an answer says about rate limits, whoever sent it.
#include <fmt/format.h>

#include <chrono>

#include "treaty/backends/providers/provider.h"
#include "treaty/cli/answers/answer_input.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/terminal.h"
#include "treaty/results/limits.h"

namespace treaty::cli::limits {
namespace {

double system_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

results::PlainLimits plain_limits_of(const std::string& name) {
  const backends::Provider* provider = backends::find_provider(name);
  return provider == nullptr ? results::PlainLimits::unnamed : provider->plain_limits;
}

std::string number_text(const std::optional<Number>& number, std::string_view unit = "") {
  if (!number) return "-";
  return number->is_whole() ? fmt::format("{}{}", number->whole(), unit)
                            : fmt::format("{}{}", number->value(), unit);
}

void print_state(const contracts::RateLimitState& state) {
  const bool colors = stdout_has_colors();
  print("{}{}\n",
        painted(state.limited ? "limited" : "not limited",
                state.limited ? Color::red : Color::green, colors),
        state.retry_after ? fmt::format("; retry after {}", number_text(state.retry_after, " s"))
                          : "");
  if (state.windows.empty()) {
    print("no windows\n");
    return;
  }
  print("{:<24} {:<14} {:>20} {:>20} {:>10}\n", "window", "resource", "remaining", "limit",
        "resets in");
  for (const contracts::RateLimitWindow& window : state.windows) {
    print("{:<24} {:<14} {:>20} {:>20} {:>10}\n", harmless(window.name), window.resource,
          number_text(window.remaining), number_text(window.limit),
          number_text(window.resets_in, " s"));
  }
}

int run(const Arguments& arguments) {
  const auto profile = arguments.get("--profile") == "compat" ? results::LimitsProfile::compat
                                                              : results::LimitsProfile::strict;
  const std::string named = arguments.get("--provider");
  if (!named.empty() && backends::find_provider(named) == nullptr) {
    return wrong_usage("limits", "there is no provider " + named);
  }
  const bool as_json = arguments.has("--ndjson") || wants_json(arguments);
  return for_each_answer("limits", arguments, [&](const AnswerInput& answer) {
    const auto state = results::read_rate_limits(
        {.headers = answer.headers,
         .status = answer.status,
         .body = answer.body,
         .now = answer.at ? answer.at : system_now(),
         .plain = plain_limits_of(named.empty() ? answer.provider : named)},
        profile);
    if (as_json) {
      print_document(contracts::encode(state) + "\n");
    } else {
      print_state(state);
    }
  });
}

}  // namespace

Command command() {
  return {
      .name = "limits",
      .positionals = "[FILE|-]",
      .summary = "Read the rate limits out of a provider's answer",
      .description =
          R"(The answer is what `curl -i` prints, header lines alone, an object of headers, or
{"status", "headers", "body", "at", "provider"}. Reads standard input by default.
Times count from the answer's date, else from `at`, else from now.)",
      .options = {{"--profile", "", "All dialects, or as FlatMachines 4.2", {"strict", "compat"}},
                  {"--provider", "NAME", "Whose answer it is, where names of windows depend on it"},
                  {"--ndjson", "", "Every line is an answer; one RateLimitState a line"},
                  format_option("For people, or the RateLimitState")},
      .examples = {{"limits answer.txt", "The windows as a table"},
                   {"limits --format json answer.txt", "As the contract has it"},
                   {"limits --ndjson < answers.ndjson", "Many"}},
      .run = run,
      .verbs = {limits_watch::command()},
  };
}

}  // namespace treaty::cli::limits
