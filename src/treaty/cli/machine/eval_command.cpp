// `treaty machine eval`: what a condition or a template of a machine comes to.
#include <fmt/format.h>

#include <expected>
#include <vector>

#include "treaty/base/json.h"
#include "treaty/base/json_dynamic.h"
#include "treaty/base/text.h"
#include "treaty/base/try.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/input.h"
#include "treaty/cli/terminal.h"
#include "treaty/templates/template.h"

namespace treaty::cli::machine_eval {
namespace {

using templates::Expression;
using templates::Template;

constexpr std::size_t kLargest = std::size_t{64} << 20U;

using Outcome = std::expected<templates::Dynamic, std::string>;

// What is asked for; `scope` is an object.
struct Question {
  bool is_template = false;
  templates::Dynamic source;
  templates::Object scope;
};

std::string told(const templates::SyntaxFault& fault) {
  return fmt::format("{} (at byte {})", fault.message, fault.offset);
}

Outcome evaluate(const Question& question, const templates::Scope& scope) {
  if (!question.is_template) {
    TREATY_TRY(const auto expression,
               map_error(Expression::parse(question.source.get_string()), told));
    return expression.evaluate(scope);
  }
  TREATY_TRY(const auto parsed, map_error(Template::parse(question.source), told));
  return parsed.render(scope);
}

Outcome answer(const Question& question) {
  std::vector<templates::Binding> bound;
  templates::Scope scope;
  for (const auto& member : question.scope) {
    const std::string_view name = member.key();
    if (name == "context") {
      scope.context = &member.value();
    } else if (name == "input") {
      scope.input = &member.value();
    } else if (name == "output") {
      scope.output = &member.value();
    } else if (name == "result") {
      scope.result = &member.value();
    } else {
      bound.push_back({name, &member.value()});
    }
  }
  scope.bound = bound;
  return evaluate(question, scope);
}

std::expected<json::Value, std::string> read_json(const json::Document& document) {
  if (document.faults().empty() && document.root()) return *document.root();
  return std::unexpected(document.faults().empty() ? std::string("it is empty")
                                                   : document.faults()[0].message);
}

std::expected<templates::Object, std::string> read_scope(json::Value scope) {
  if (!scope.is_object()) return std::unexpected("'scope' is an object");
  return json::to_dynamic_object(scope);
}

std::expected<Question, std::string> read_question(json::Value line) {
  if (!line.is_object()) {
    return std::unexpected(R"(a line is {"expr" or "template", "scope"})");
  }
  const auto expression = line.members().find("expr");
  const auto source = line.members().find("template");
  if (expression.has_value() == source.has_value()) {
    return std::unexpected(R"(a line has either "expr" or "template")");
  }
  if (expression && !expression->is_string()) return std::unexpected("'expr' is a string");
  Question question{.is_template = source.has_value(),
                    .source = json::to_dynamic(source ? *source : *expression),
                    .scope = {}};
  if (const auto scope = line.members().find("scope")) {
    TREATY_TRY(auto read, read_scope(*scope));
    question.scope = std::move(read);
  }
  return question;
}

std::expected<Question, std::string> read_line(std::string_view line) {
  const json::Document document(line, {.max_size = kLargest});
  const auto read = read_json(document);
  if (!read) return std::unexpected(fmt::format("not JSON: {}", read.error()));
  return read_question(*read);
}

void print_answer(const Outcome& outcome) {
  json::Writer writer;
  writer.begin_object();
  if (outcome) {
    json::write(writer.name("value"), *outcome);
  } else {
    writer.member("error", outcome.error());
  }
  writer.end_object();
  print_document(writer.take() + "\n");
}

int answer_lines(const std::string& path) {
  return for_each_line(path, kLargest, [](const std::string& line, std::size_t) {
    const auto question = read_line(line);
    print_answer(question ? answer(*question) : std::unexpected(question.error()));
    std::fflush(stdout);  // Whoever asks may wait for this answer before the next question.
    return question ? kOk : kViolated;
  });
}

Result<int> answer_one(const Arguments& arguments) {
  Question question{.is_template = arguments.has("--template"),
                    .source = boost::json::string(arguments.positionals[0]),
                    .scope = {}};
  const std::string scope = arguments.get("--scope", "{}");
  const json::Document document(scope, {.max_size = kLargest});
  const auto read = read_json(document);
  if (!read) return misused(fmt::format("--scope is not JSON: {}", read.error()));
  auto object = read_scope(*read);
  if (!object) return misused("--scope is an object: '{\"context\": {}}'");
  question.scope = *std::move(object);
  const Outcome outcome = answer(question);
  if (!outcome) return failed_with(kViolated, harmless(outcome.error()));
  print_document(json::to_json(*outcome) + "\n");
  return kOk;
}

Result<int> run(const Arguments& arguments) {
  if (arguments.has("--ndjson")) {
    if (arguments.has("--scope") || arguments.has("--template")) {
      return misused("with --ndjson the scope is in the lines");
    }
    if (arguments.positionals.size() > 1) return misused("one file at a time");
    return answer_lines(arguments.positionals.empty() ? "-" : arguments.positionals[0]);
  }
  if (arguments.positionals.size() != 1) {
    return misused("one condition in quotes, or --ndjson and lines on standard input");
  }
  return answer_one(arguments);
}

}  // namespace

Command command() {
  return {
      .name = "eval",
      .positionals = "EXPRESSION",
      .summary = "Try a condition or a template of a machine",
      .description =
          R"(Prints what a condition, or with --template a template, comes to, as JSON. In the scope
are context, input, output and result; other names are those of foreach.
With --ndjson every line of standard input (or of a file) is
{"expr" or "template", "scope"}; one {"value"} or {"error"} a line comes back.)",
      .options = {{"--scope", "JSON", "What the names mean"},
                  {"--template", "", "It is a template, not a condition"},
                  {"--ndjson", "", "Every line is a question; one answer a line"}},
      .examples =
          {{"machine eval 'context.n > 3' --scope '{\"context\": {\"n\": 5}}'", "true or false?"},
           {"machine eval --template 'Dear {{ context.name }}' --scope '{\"context\": {\"name\": "
            "\"Ada\"}}'",
            "What does this prompt say?"},
           {"machine eval --ndjson < questions.ndjson", "Many"}},
      .run = run,
  };
}

}  // namespace treaty::cli::machine_eval
