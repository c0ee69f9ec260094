#include "treaty/cli/bridge/directory.h"

#include <fmt/format.h>

#include "treaty/cli/terminal.h"

namespace treaty::cli {

std::vector<Option> directory_options() {
  return {{"--dir", "DIR", "Where requests and answers lie (the current directory)"}};
}

Result<std::string> named_directory(const Arguments& arguments) {
  auto directory = bridge::resolve_directory(arguments.get("--dir", "."));
  if (directory) return *std::move(directory);
  return failed_with(kViolated, text_of(directory.error()),
                     "name a directory that is there: --dir DIR");
}

std::unexpected<CommandFailure> unusable(const Error& error, int exit_code) {
  return failed_with(exit_code, text_of(error), "treaty bridge doctor");
}

Result<bridge::Driver> open_driver(const std::string& verb, const std::string& directory,
                                   bridge::Reach reach) {
  auto driver = bridge::Driver::open(directory, verb, reach);
  if (driver) return *std::move(driver);
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
