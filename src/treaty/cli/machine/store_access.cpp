#include "treaty/cli/machine/store_access.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>

#include "treaty/cli/terminal.h"

namespace treaty::cli {

std::expected<OpenedMachines, int> open_to_look(std::string_view command,
                                                const MachineServices& services,
                                                const Arguments& arguments,
                                                store::Purpose purpose) {
  std::error_code ignored;
  const std::string directory = arguments.get("--store");
  if (purpose != store::Purpose::run && arguments.has("--store") &&
      !std::filesystem::is_directory(directory, ignored)) {
    print_error(
        "treaty {}: {}: there is no such directory; `treaty machine run FILE --store {}` makes "
        "one\n",
        command, harmless(directory), harmless(shell_word(directory)));
    return std::unexpected(kUnavailable);
  }
  return open_machines(command, services, arguments, purpose, nullptr);
}

std::vector<Option> looking_options() {
  std::vector<Option> options = {
      {"--format", "", "For people, or for programs", {"human", "json"}}};
  for (Option& option : machine_store_options()) options.push_back(std::move(option));
  return options;
}

bool wants_json(const Arguments& arguments) { return arguments.get("--format") == "json"; }

std::expected<std::int64_t, std::string> read_count(const Arguments& arguments,
                                                    const std::string& option, std::int64_t least,
                                                    std::int64_t otherwise) {
  if (!arguments.has(option)) return otherwise;
  const std::string text = arguments.get(option);
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc() || stop != end || number < least) {
    return std::unexpected(fmt::format("{} is a number of {} or more", option, least));
  }
  return number;
}

}  // namespace treaty::cli
