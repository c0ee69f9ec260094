#include <fmt/format.h>

#include "treaty/assistant/composer.h"
#include "treaty/base/ids.h"
#include "treaty/base/json.h"
#include "treaty/base/text.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/input.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli::compose {
namespace {

constexpr std::size_t kLargest = std::size_t{16} << 20U;

struct Job {
  assistant::ComposeProfile profile;
  bool explain;
};

// An input that is no JSON still gets a response, and a word on stderr.
int compose_one(const Job& job, std::string_view text, const std::string& name) {
  // Any depth: what is nested too deep for a document is still an input.
  const json::Document document(text, {.max_size = kLargest, .max_depth = kLargest});
  const auto composition = assistant::compose(document.root(), job.profile, new_uuid);
  print_document(contracts::encode(composition.response) + "\n");
  if (job.explain) {
    print_error("{}: state {}: {}\n", name, assistant::name_of(composition.state),
                composition.why_state);
    print_error("{}: confidence_level {}: {}\n", name,
                contracts::name_of(composition.response.confidence_level),
                composition.why_confidence);
    print_error("{}: trace_id: {}\n", name, composition.why_trace_id);
  }
  if (document.root()) return kOk;
  print_error("{}: is not JSON ({}); the default response was composed\n", name,
              document.faults().empty() ? "" : document.faults()[0].message);
  return kViolated;
}

Result<int> run(const Arguments& arguments) {
  if (arguments.positionals.size() > 1) return misused("one file at a time");
  const std::string path = arguments.positionals.empty() ? "-" : arguments.positionals[0];
  const Job job{.profile = arguments.get("--profile") == "compat"
                               ? assistant::ComposeProfile::compat
                               : assistant::ComposeProfile::strict,
                .explain = arguments.has("--explain")};
  if (arguments.has("--ndjson")) {
    return for_each_line(path, kLargest, [&](const std::string& line, std::size_t number) {
      return compose_one(job, line, fmt::format("{}:{}", harmless(path), number));
    });
  }
  const auto text = read_input(path, kLargest);
  if (!text) return tell_unreadable(text.error());
  return compose_one(job, *text, harmless(path));
}

}  // namespace

Command command() {
  return {
      .name = "compose",
      .positionals = "[FILE|-]",
      .summary = "Compose an Assistant Response v1 by its fixed templates",
      .description = R"(The input is {"summary", "task", "routing", "execution_status"}, all of them
optional; what has another shape counts as absent. Reads standard input by default.)",
      .options = {{"--profile", "", "Safe, or as first deployed", {"strict", "compat"}},
                  {"--ndjson", "", "Every line is an input; one response a line"},
                  {"--explain", "", "Say on stderr which state was chosen, and why"}},
      .examples = {{"compose task.json", "One response"},
                   {"compose --explain task.json", "And why it is that one"},
                   {"compose --ndjson < tasks.ndjson", "Many"}},
      .run = run,
  };
}

}  // namespace treaty::cli::compose
