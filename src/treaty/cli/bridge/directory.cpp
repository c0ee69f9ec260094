#include "treaty/cli/bridge/directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "treaty/base/files.h"
#include "treaty/bridge/names.h"
#include "treaty/bridge/quarantine.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli {
namespace {

bool is_found(const std::string& directory, Needs needs) {
  std::error_code ignored;
  return std::ranges::any_of(names_in(directory, ignored), [&](const std::string& name) {
    if (bridge::suffix_of_request(name)) return true;
    return needs != Needs::request && (bridge::suffix_of_response(name) || name == bridge::kFolder);
  });
}

}  // namespace

std::vector<Option> directory_options() {
  return {{"--dir", "DIR",
           "Where requests and answers lie (default: where the request is found, see treaty bridge "
           "--help)"}};
}

bridge::StartingPoint starting_point() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  std::error_code ignored;
  return {.here = std::filesystem::current_path(ignored).string(),
          .home = variable("HOME"),
          .agentecflow_home = variable("AGENTECFLOW_HOME")};
}

std::string chosen_directory(std::string_view command, const Arguments& arguments, Needs needs) {
  std::string given = arguments.get("--dir", ".");
  if (arguments.has("--dir") || is_found(given, needs)) return given;
  const bridge::StartingPoint start = starting_point();
  std::optional<std::string> found;
  if (auto request = bridge::find_request(start)) {
    found = std::move(request->directory);
  } else if (needs == Needs::journal) {
    found = bridge::find_journal(start);
  }
  if (!found) return given;
  print_error("treaty {}: there is no {} in the current directory; using {}\n", command,
              needs == Needs::journal ? "journal" : "request", harmless(*found));
  return *found;
}

Result<std::string> resolved_directory(const std::string& directory) {
  auto resolved = bridge::resolve_directory(directory);
  if (resolved) return *std::move(resolved);
  return failed_with(kViolated, text_of(resolved.error()),
                     "name a directory that is there: --dir DIR");
}

int exit_code_of(const Error& error) {
  if (error.code == ErrorCode::conflict) return kViolated;
  return error.code == ErrorCode::unavailable ? kTryLater : kUnavailable;
}

std::string command_text(const std::vector<std::vector<std::string>>& commands) {
  std::vector<std::string> lines;
  lines.reserve(commands.size());
  for (const auto& words : commands) lines.push_back(shell_line(words));
  return fmt::format("{}", fmt::join(lines, " && "));
}

std::unexpected<CommandFailure> unusable(const Error& error, int exit_code) {
  return failed_with(exit_code, text_of(error), "treaty bridge doctor");
}

Result<bridge::Driver> open_driver(const std::string& verb, const std::string& directory,
                                   bridge::Reach reach) {
  auto driver = bridge::Driver::open(directory, verb, reach);
  if (driver) return *std::move(driver);
  if (const std::string link = bridge::linked_folder(directory); !link.empty()) {
    return failed_with(kUnavailable, text_of(driver.error()),
                       fmt::format("rm {}", shell_word(harmless(link))));
  }
  if (driver.error().code != ErrorCode::conflict) {
    return failed_with(kUnavailable, text_of(driver.error()),
                       "check who may write there and that there is space, or look with treaty "
                       "bridge doctor");
  }
  return failed_with(kTryLater,
                     fmt::format("{}: {}", harmless(directory), harmless(driver.error().message)),
                     "wait for its end, or end it; two drivers would answer twice");
}

}  // namespace treaty::cli
