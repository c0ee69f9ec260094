#include "treaty/cli/bridge/directory.h"

#include "treaty/cli/terminal.h"

namespace treaty::cli {

std::vector<Option> directory_options() {
  return {{"--dir", "DIR", "Where requests and answers lie (the current directory)"}};
}

std::expected<std::string, int> named_directory(std::string_view command,
                                                const Arguments& arguments) {
  auto directory = bridge::resolve_directory(arguments.get("--dir", "."));
  if (directory) return *std::move(directory);
  print_error("treaty {}: {}: {}\nNext: name a directory that is there: --dir DIR\n", command,
              harmless(directory.error().where), harmless(directory.error().message));
  return std::unexpected(kViolated);
}

int tell_unusable(std::string_view command, const Error& error, int code) {
  print_error("treaty {}: {}: {}\nNext: treaty bridge doctor\n", command, harmless(error.where),
              harmless(error.message));
  return code;
}

std::expected<bridge::Driver, int> open_driver(std::string_view command,
                                               const std::string& directory, bridge::Reach reach) {
  // The lock names the verb alone.
  const std::string verb(command.substr(command.rfind(' ') + 1));
  auto driver = bridge::Driver::open(directory, verb, reach);
  if (driver) return *std::move(driver);
  const bool is_taken = driver.error().code == ErrorCode::conflict;
  print_error("treaty {}: {}: {}\nNext: {}\n", command,
              harmless(is_taken ? directory : driver.error().where),
              harmless(driver.error().message),
              is_taken ? "wait for its end, or end it; two drivers would answer twice"
                       : "check who may write there and that there is space, or look with treaty "
                         "bridge doctor");
  return std::unexpected(is_taken ? kTryLater : kUnavailable);
}

}  // namespace treaty::cli
