#include "treaty/cli/shared/configured.h"

#include <fmt/format.h>

#include "treaty/cli/terminal.h"

namespace treaty::cli {
namespace {

std::optional<config::Configuration> load(std::string_view command, config::Flags flags) {
  auto configuration = config::load(config::process_sources(std::move(flags)));
  if (configuration) return *std::move(configuration);
  for (const Diagnostic& problem : configuration.error()) {
    print_error("treaty {}: {}\n", command, harmless(text_of(problem)));
  }
  return std::nullopt;
}

std::string_view next_step_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::too_new:
      return "use the version of treaty that wrote it, or another journal: --state-dir DIR";
    case ErrorCode::corrupt:
      return "keep a copy of it, then bring back a backup or take another journal: --state-dir DIR";
    case ErrorCode::unavailable:
    case ErrorCode::unreadable:
    case ErrorCode::unwritable:
    case ErrorCode::is_directory:
      return "check who may write there and that there is space, or take another: --state-dir DIR";
    case ErrorCode::conflict:
      return "end the process that has it, or take another journal: --state-dir DIR";
    case ErrorCode::wrong_usage:
    case ErrorCode::not_a_document: return "look at it with treaty config check";
  }
  return "";
}

}  // namespace

std::vector<Option> configuration_options() {
  return {{"--config", "FILE", "The configuration (TREATY_CONFIG, else ./treaty.yaml)"},
          {"--state-dir", "DIR", "Where the journal is ($XDG_STATE_HOME/treaty)"}};
}

config::Flags configuration_flags(const Arguments& arguments) {
  const auto given = [&](const std::string& name) {
    return arguments.has(name) ? std::optional(arguments.get(name)) : std::nullopt;
  };
  return {
      .config = given("--config"), .listen = given("--listen"), .state_dir = given("--state-dir")};
}

std::optional<config::Configuration> load_configuration(std::string_view command,
                                                        const Arguments& arguments) {
  return load(command, configuration_flags(arguments));
}

std::optional<config::Configuration> load_private_configuration(std::string_view command,
                                                                const Arguments& arguments) {
  config::Flags flags = configuration_flags(arguments);
  flags.listen = "127.0.0.1:0";
  return load(command, std::move(flags));
}

std::expected<std::string, Error> configured_address(const Arguments& arguments) {
  // Nothing is served here: whatever the configuration says of addresses is not to be judged.
  config::Flags flags = configuration_flags(arguments);
  flags.listen = "127.0.0.1:0";
  auto loaded = config::load(config::process_sources(std::move(flags)));
  if (loaded) return std::move(loaded->store);
  std::string problems;
  for (const Diagnostic& problem : loaded.error()) {
    problems += (problems.empty() ? "" : "; ") + text_of(problem);
  }
  return std::unexpected(Error{.code = ErrorCode::wrong_usage, .message = problems});
}

std::expected<std::unique_ptr<Gateway>, int> open_gateway(
    std::string_view command, const OpenGateway& open, const config::Configuration& configuration) {
  auto gateway = open(configuration);
  if (gateway) return *std::move(gateway);
  return std::unexpected(tell_error(command, gateway.error()));
}

int tell_error(std::string_view command, const Error& error) {
  const std::string place = error.where.empty() ? "" : harmless(error.where) + ": ";
  print_error("treaty {}: {}{}\nNext: {}\n", command, place, harmless(error.message),
              next_step_of(error.code));
  const bool is_configuration =
      error.code == ErrorCode::wrong_usage || error.code == ErrorCode::not_a_document;
  return is_configuration ? kBadConfiguration : kUnavailable;
}

std::string_view path_of_store(std::string_view address) {
  constexpr std::string_view kScheme = "sqlite://";
  return address.starts_with(kScheme) ? address.substr(kScheme.size()) : address;
}

}  // namespace treaty::cli
