#include "treaty/cli/shared/configured.h"

#include "treaty/base/try.h"
#include "treaty/cli/terminal.h"
#include "treaty/store/open_store.h"

namespace treaty::cli {
namespace {

using Loaded = std::expected<config::Configuration, std::vector<Diagnostic>>;

Loaded load_private(const Arguments& arguments) {
  config::Flags flags = configuration_flags(arguments);
  flags.listen = "127.0.0.1:0";
  return config::load(config::process_sources(std::move(flags)));
}

Result<config::Configuration> told(std::string_view command, Loaded loaded) {
  if (loaded) return *std::move(loaded);
  for (const Diagnostic& problem : loaded.error()) {
    print_error("treaty {}: {}\n", command, harmless(text_of(problem)));
  }
  return failed_with(kBadConfiguration, "");
}

std::string_view next_step_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::too_new:
      return "use the version of treaty that wrote it, or another journal: --state-dir DIR";
    case ErrorCode::corrupt:
      return "keep a copy of it, then bring back a backup or take another journal: --state-dir DIR";
    case ErrorCode::not_found:
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

Result<config::Configuration> load_configuration(std::string_view command,
                                                 const Arguments& arguments) {
  return told(command, config::load(config::process_sources(configuration_flags(arguments))));
}

Result<config::Configuration> load_private_configuration(std::string_view command,
                                                         const Arguments& arguments) {
  return told(command, load_private(arguments));
}

std::expected<std::string, Error> configured_store(const Arguments& arguments) {
  // Nothing is served here: whatever the configuration says of addresses is not to be judged.
  auto loaded = load_private(arguments);
  if (loaded) return std::move(loaded->store);
  std::string problems;
  for (const Diagnostic& problem : loaded.error()) {
    problems += (problems.empty() ? "" : "\n") + harmless(text_of(problem));
  }
  return fail(ErrorCode::wrong_usage, problems);
}

std::expected<std::unique_ptr<store::Store>, Error> open_configured_store(
    const Arguments& arguments, store::Purpose purpose) {
  TREATY_TRY(const std::string address, configured_store(arguments));
  return store::open_store(address, {.purpose = purpose});
}

Result<std::unique_ptr<Gateway>> open_gateway(const OpenGateway& open,
                                              const config::Configuration& configuration) {
  return map_error(open(configuration), failure_of);
}

CommandFailure failure_of(const Error& error) {
  const bool is_configuration =
      error.code == ErrorCode::wrong_usage || error.code == ErrorCode::not_a_document;
  return {.exit_code = is_configuration ? kBadConfiguration : kUnavailable,
          .message = is_configuration && error.where.empty() ? harmless_lines(error.message)
                                                             : text_of(error),
          .next = std::string(next_step_of(error.code))};
}

std::string_view path_of_store(std::string_view address) {
  constexpr std::string_view kScheme = "sqlite://";
  return address.starts_with(kScheme) ? address.substr(kScheme.size()) : address;
}

}  // namespace treaty::cli
