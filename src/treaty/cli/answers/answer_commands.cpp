// `treaty classify`, which of the eight errors a failed answer is, and `treaty limits`, what an
// answer says about rate limits. An answer is JSON, or the text that `curl -i` prints.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <functional>

#include "treaty/backends/providers/provider.h"
#include "treaty/base/clock.h"
#include "treaty/base/headers.h"
#include "treaty/base/json.h"
#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/input.h"
#include "treaty/cli/terminal.h"
#include "treaty/results/errors.h"
#include "treaty/results/limits.h"

namespace treaty::cli::answers {
namespace {

struct AnswerInput {
  std::optional<int> status{};
  Headers headers{};
  std::string body{};
  std::optional<double> at{};  // Seconds since 1970.
  std::string provider{};
};

constexpr std::size_t kMostHeaders = 1'000;

Error refusal(std::string message) { return {ErrorCode::not_a_document, std::move(message)}; }

std::string_view text_of(json::Value value) {
  return value.is_string() ? value.text() : value.source();
}

std::optional<json::Value> given(json::Value object, std::string_view name) {
  const auto value = object.members().find(name);
  return value && !value->is_null() ? value : std::nullopt;
}

// Names and values of an object; a list of values is a field that came several times.
Headers read_headers(json::Value object) {
  Headers headers;
  if (!object.is_object()) return headers;
  for (const auto& [name, value] : object.members()) {
    if (value.is_null() || headers.size() >= kMostHeaders) continue;
    if (!value.is_array()) {
      headers.add(name.text(), text_of(value));
      continue;
    }
    for (const json::Value element : value.elements()) headers.add(name.text(), text_of(element));
  }
  return headers;
}

std::expected<AnswerInput, Error> read_object(json::Value object) {
  AnswerInput answer;
  const auto headers = object.members().find("headers");
  if (!headers && !given(object, "status") && !given(object, "body")) {
    answer.headers = read_headers(object);
    return answer;
  }
  if (headers && headers->is_object()) {
    answer.headers = read_headers(*headers);
  } else if (headers && !headers->is_null()) {
    return std::unexpected(refusal("headers is not an object of names and values"));
  }
  if (const auto status = given(object, "status")) {
    const auto number = parse_number<std::int64_t>(text_of(*status));
    if (!number || *number < 100 || *number > 999) {
      return std::unexpected(refusal("status is not an HTTP status"));
    }
    answer.status = static_cast<int>(*number);
  }
  if (const auto body = given(object, "body")) answer.body = text_of(*body);
  if (const auto provider = given(object, "provider")) answer.provider = text_of(*provider);
  if (const auto at = given(object, "at")) {
    answer.at = at->is_number() ? at->number() : seconds_of_timestamp(text_of(*at));
    if (!answer.at) return std::unexpected(refusal("at is not an RFC 3339 time"));
  }
  return answer;
}

std::optional<int> status_line(std::string_view line) {
  if (!starts_with_folded(line, "http/")) return std::nullopt;
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  int status = 0;
  const auto [_, error] = std::from_chars(line.begin() + space + 1, line.end(), status);
  if (error != std::errc() || status < 100 || status > 999) return std::nullopt;
  return status;
}

std::expected<AnswerInput, Error> read_lines(std::string_view text) {
  AnswerInput answer;
  for (std::size_t at = 0; at < text.size();) {
    const Line line = line_at(text, at);
    at = line.next;
    if (is_blank(line.text) && status_line(line_at(text, at).text)) {
      answer = {};  // 100 Continue, or a proxy's own answer: the last head counts.
      continue;
    }
    if (is_blank(line.text)) {
      answer.body = text.substr(std::min(at, text.size()));
      break;
    }
    if (const auto status = status_line(line.text)) {
      answer.status = status;
      continue;
    }
    const std::size_t colon = line.text.find(':');
    if (colon == 0 || colon == std::string_view::npos) {
      return std::unexpected(refusal(fmt::format(
          "\"{}\" is no header line; give NAME: VALUE lines or JSON", line.text.substr(0, 60))));
    }
    if (answer.headers.size() >= kMostHeaders) {
      return std::unexpected(refusal(fmt::format("more than {} headers", kMostHeaders)));
    }
    answer.headers.add(line.text.substr(0, colon), line.text.substr(colon + 1));
  }
  return answer;
}

// {"status", "headers", "body", "at", "provider"}, each optional or null; or an object of headers
// alone; or header lines, with a status line before and a body after them if there are any.
std::expected<AnswerInput, Error> read_answer(std::string_view text) {
  if (!trimmed(text).starts_with('{')) return read_lines(text);
  const json::Document document(text);
  if (!document.faults().empty()) {
    return std::unexpected(refusal("is not JSON: " + document.faults()[0].message));
  }
  return read_object(*document.root());
}

constexpr std::size_t kLargestAnswer = std::size_t{16} << 20U;

int read_answer_line(const std::string& path, const std::string& line, std::size_t number,
                     const std::function<void(const AnswerInput&)>& each) {
  if (const auto answer = read_answer(line)) {
    each(*answer);
    return kOk;
  } else {
    print_error("{}:{}: {}\n", harmless(path), number, harmless(answer.error().message));
  }
  print("null\n");
  return kViolated;
}

// Reads the file that the arguments name (standard input by default), as one answer or, with
// --ndjson, as one a line, and gives each to `each`. A line that cannot be read is told on stderr
// and answered with null, so that lines in and lines out stay side by side.
Result<int> for_each_answer(const Arguments& arguments,
                            const std::function<void(const AnswerInput&)>& each) {
  if (arguments.positionals.size() > 1) return misused("one file at a time");
  const std::string path = arguments.positionals.empty() ? "-" : arguments.positionals[0];
  if (arguments.has("--ndjson")) {
    return for_each_line(path, kLargestAnswer, [&](const std::string& line, std::size_t number) {
      return read_answer_line(path, line, number, each);
    });
  }
  const auto text = read_within(path, kLargestAnswer);
  if (!text) return tell_unreadable(text.error());
  const auto answer = read_answer(*text);
  if (!answer) return tell_unreadable({answer.error().code, answer.error().message, path});
  each(*answer);
  return kOk;
}

void print_error_for_people(const contracts::AgentError& error) {
  const bool colors = stdout_has_colors();
  print("{} ({})\n", painted(error.code.value_or("unknown"), Color::red, colors),
        error.retryable.value_or(false) ? "trying again may help" : "trying again does not help");
  if (error.status_code) print("  status   {}\n", *error.status_code);
  if (error.type) print("  type     {}\n", harmless(*error.type));
  print("  message  {}\n", harmless(error.message));
}

Result<int> classify(const Arguments& arguments) {
  const bool as_json = arguments.has("--ndjson") || wants_json(arguments);
  return for_each_answer(arguments, [&](const AnswerInput& answer) {
    const contracts::AgentError error = results::classify_error(
        {.status = answer.status, .headers = answer.headers, .body = answer.body});
    if (as_json) {
      print_document(contracts::encode(error) + "\n");
    } else {
      print_error_for_people(error);
    }
  });
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

Result<int> limits(const Arguments& arguments) {
  const auto profile = arguments.get("--profile") == "compat" ? results::LimitsProfile::compat
                                                              : results::LimitsProfile::strict;
  const std::string named = arguments.get("--provider");
  if (!named.empty() && backends::find_provider(named) == nullptr) {
    return misused("there is no provider " + named);
  }
  const bool as_json = arguments.has("--ndjson") || wants_json(arguments);
  return for_each_answer(arguments, [&](const AnswerInput& answer) {
    const auto state = results::read_rate_limits(
        {.headers = answer.headers,
         .status = answer.status,
         .body = answer.body,
         .now = answer.at ? *answer.at : unix_seconds(std::chrono::system_clock::now()),
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

Command classify_command() {
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
      .run = classify,
  };
}

Command limits_command() {
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
      .run = limits,
      .verbs = {limits_watch::command()},
  };
}

}  // namespace treaty::cli::answers
