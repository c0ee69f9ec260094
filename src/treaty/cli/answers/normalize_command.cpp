// treaty normalize: recorded exchanges with providers, each as one AgentResult.

#include "treaty/backends/recording.h"
#include "treaty/base/json_write.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/input.h"
#include "treaty/cli/terminal.h"
#include "treaty/contracts/agent_result.h"
#include "treaty/results/prices.h"

namespace treaty::cli::normalize {
namespace {

constexpr std::size_t kLargest = std::size_t{256} << 20U;

struct Job {
  const backends::Protocol* protocol;
  results::PriceTable prices;
  bool as_json;
};

// Where the result would stand, so that a reader of the lines finds every file again.
int tell_failure(const Job& job, const std::string& path, std::string_view message) {
  if (job.as_json) {
    json::Writer writer;
    writer.begin_object().member("document", path).name("result").null();
    print_document(writer.member("problem", message).end_object().take() + "\n");
  }
  print_error("{}: {}\n", harmless(path), harmless(message));
  return kViolated;
}

void print_for_people(const std::string& path, const contracts::AgentResult& result) {
  const bool colors = stdout_has_colors();
  const std::string reason = result.finish_reason.value_or("");
  print("{}: {}", harmless(path),
        painted(reason, result.success() ? Color::green : Color::red, colors));
  if (result.error) {
    print(" ({}{}): {}", result.error->code.value_or(""),
          result.error->retryable.value_or(false) ? ", retryable" : "",
          harmless(result.error->message));
  }
  if (result.usage) {
    print(", {} + {} tokens", result.usage->input_tokens.value_or(0),
          result.usage->output_tokens.value_or(0));
  }
  if (result.tool_calls) print(", {} tool calls", result.tool_calls->size());
  if (result.rate_limit && result.rate_limit->limited) print(", limited");
  print("\n");
}

int normalize_one(const Job& job, const std::string& path) {
  const auto text = read_within(path, kLargest);
  if (!text) return tell_failure(job, path, text.error().message);
  auto recording = backends::read_recording(*text);
  if (!recording) return tell_failure(job, path, recording.error().message);
  if (job.protocol != nullptr) recording->protocol = job.protocol;
  if (recording->protocol == nullptr) {
    return tell_failure(job, path, "it does not say which protocol it is; add --protocol");
  }
  const contracts::AgentResult result = backends::normalize(*recording, &job.prices);
  if (job.as_json) {
    json::Writer writer;
    writer.begin_object().member("document", path).name("result").raw(contracts::encode(result));
    print_document(writer.end_object().take() + "\n");
  } else {
    print_for_people(path, result);
  }
  return kOk;
}

Result<int> run(const Arguments& arguments) {
  if (arguments.positionals.empty()) return misused("name at least one file");
  const std::string named = arguments.get("--protocol");
  Job job{.protocol = nullptr, .prices = {}, .as_json = wants_json(arguments)};
  if (!named.empty()) {
    job.protocol = backends::find_protocol(named);
    if (job.protocol == nullptr) {
      return misused("there is no protocol " + named +
                     "; known are chat_completions, completions, responses, "
                     "anthropic_messages, gemini, ollama_native");
    }
  }
  if (auto prices = results::read_prices(results::built_in_prices())) job.prices = *prices;
  int code = kOk;
  for (const auto& path : expand_paths(arguments.positionals, Expand::directories)) {
    if (path) {
      code = std::max(code, normalize_one(job, *path));
    } else {
      code = std::max(code, tell_failure(job, path.error().where, path.error().message));
    }
  }
  return code;
}

}  // namespace

Command command() {
  return {
      .name = "normalize",
      .positionals = "FILE...",
      .summary = "Turn recorded exchanges with providers into AgentResults",
      .description =
          R"(A file holds one exchange: {"provider", "endpoint", "request", "response"}, the
response with status, headers and body (or body_sse_text for an event stream).
Directories stand for the .json files below them.)",
      .options = {{"--protocol", "NAME", "Which protocol it is, where the file does not tell"},
                  format_option("For people, or one AgentResult a line")},
      .examples = {{"normalize exchange.json", "One exchange"},
                   {"normalize --format json recordings/", "Every exchange of a directory"}},
      .run = run,
  };
}

}  // namespace treaty::cli::normalize
