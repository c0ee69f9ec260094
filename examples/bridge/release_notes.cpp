// Has an agent write release notes in two phases: the changes in groups, then the prose.
//
//   treaty bridge run --agent AGENT -- release_notes changes.txt
//
// It asks and leaves with 42; run again with --resume, it runs through its phases from the first
// one and finds the answers that there are. What must not change meanwhile is in its checkpoint:
// the changes as they were read, and which run it is. The notes are in release-notes.md in the end.
// Exit: 0 done, 42 an agent is needed, 1 something failed, 75 the agent took too long, 2 wrong
// usage.
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "treaty/base/files.h"
#include "treaty/base/ids.h"
#include "treaty/base/json.h"
#include "treaty/base/json_write.h"
#include "treaty/bridge/invoke.h"

namespace {

namespace bridge = treaty::bridge;
namespace contracts = treaty::contracts;

constexpr std::string_view kCheckpoint = ".release-notes-state.json";
constexpr std::size_t kLargest = std::size_t{1} << 20U;

struct State {
  std::string run;  // Goes along with every question: yesterday's answers are to other questions.
  std::string changes;
};

int fail(std::string_view what, int exit_code = 1) {
  std::cerr << "release_notes: " << what << '\n';
  return exit_code;
}

std::optional<State> load() {
  const auto text = treaty::read_file(std::string(kCheckpoint), kLargest);
  if (!text) return std::nullopt;
  const treaty::json::Document document(*text);
  State state{.run = std::string(treaty::json::find_text(document.root(), "run")),
              .changes = std::string(treaty::json::find_text(document.root(), "changes"))};
  return state.run.empty() ? std::nullopt : std::optional(std::move(state));
}

std::expected<void, treaty::Error> save(const State& state) {
  treaty::json::Writer writer;
  writer.begin_object().member("run", state.run).member("changes", state.changes).end_object();
  return treaty::replace_file(std::string(kCheckpoint), writer.take());
}

// The text of the agent, or the code to leave with.
std::expected<std::string, int> ask(const State& state, std::int64_t phase,
                                    const std::string& phase_name, const std::string& prompt) {
  const auto answer = bridge::invoke({.agent_name = "writer",
                                      .prompt = prompt,
                                      .phase = phase,
                                      .phase_name = phase_name,
                                      .context = {{"run", state.run}}});
  if (!answer) return std::unexpected(fail(answer.error().message, answer.error().exit_code));
  if (const auto* success = std::get_if<contracts::BridgeSuccess>(&answer->outcome)) {
    return success->response;
  }
  if (const auto* timeout = std::get_if<contracts::BridgeTimeout>(&answer->outcome)) {
    return std::unexpected(fail(phase_name + " took too long: " + timeout->error_message, 75));
  }
  const auto& error = std::get<contracts::BridgeError>(answer->outcome);
  return std::unexpected(fail(phase_name + " failed: " + error.error_message));
}

int run(const std::string& file, bool resumed) {
  std::optional<State> state = resumed ? load() : std::nullopt;
  if (!state) {
    const auto changes = treaty::read_file(file, kLargest);
    if (!changes) return fail(file + " " + changes.error().message);
    state = State{.run = treaty::new_uuid(), .changes = *changes};
    if (const auto saved = save(*state); !saved) return fail(saved.error().message);
  }
  const auto groups =
      ask(*state, 1, "sort",
          "Sort these changes into Added, Changed and Fixed; leave out what no user "
          "notices.\n\n" +
              state->changes);
  if (!groups) return groups.error();
  const auto notes =
      ask(*state, 2, "write", "Write release notes in Markdown from these groups.\n\n" + *groups);
  if (!notes) return notes.error();
  const auto written = treaty::replace_file("release-notes.md", *notes + "\n");
  return written ? 0 : fail(written.error().message);
}

}  // namespace

int main(int count, char** values) {
  std::optional<std::string> file;
  bool resumed = false;
  for (const std::string_view argument :
       std::span(values, static_cast<std::size_t>(count)).subspan(1)) {
    if (argument == "--resume") {
      resumed = true;
    } else if (file) {
      return fail("usage: release_notes FILE [--resume]", 2);
    } else {
      file = argument;
    }
  }
  if (!file) return fail("usage: release_notes FILE [--resume]", 2);
  return run(*file, resumed);
}
