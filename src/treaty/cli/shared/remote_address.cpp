#include "treaty/cli/shared/remote_address.h"

#include <fmt/format.h>

#include <cstdlib>

#include "treaty/base/text.h"
#include "treaty/base/try.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli {
namespace {

std::expected<std::string, BadAddress> read_key(const Arguments& arguments) {
  if (!arguments.has("--key-env")) return std::string();
  const std::string name = arguments.get("--key-env");
  const char* value = std::getenv(name.c_str());
  const std::string_view key = value == nullptr ? std::string_view() : trimmed(value);
  if (!key.empty() && !has_control_character(key)) return std::string(key);
  return std::unexpected(
      BadAddress{kBadConfiguration,
                 fmt::format("{} holds no key: export {}=…", harmless(name), harmless(name))});
}

}  // namespace

int tell_bad_address(std::string_view command, const BadAddress& bad) {
  if (bad.exit_code == kWrongUsage) return wrong_usage(command, bad.message);
  print_error("treaty {}: {}\n", command, bad.message);
  return bad.exit_code;
}

std::vector<Option> remote_options() {
  return {{"--url", "URL", "The gateway (http://127.0.0.1:8088); else one in this process"},
          {"--key-env", "NAME", "The variable that holds the gateway's key"}};
}

std::expected<std::optional<RemoteAddress>, BadAddress> read_remote_address(
    const Arguments& arguments) {
  const std::string text = arguments.get("--url");
  if (!arguments.has("--url")) {
    if (!arguments.has("--key-env")) return std::nullopt;
    return std::unexpected(BadAddress{kWrongUsage, "--key-env goes with --url"});
  }
  for (const std::string name : {"--config", "--state-dir"}) {
    if (!arguments.has(name)) continue;
    return std::unexpected(
        BadAddress{kWrongUsage, name + " is for the gateway of this process: leave --url away"});
  }
  const auto url = http::parse_url(text);
  if (!url) {
    return std::unexpected(BadAddress{kWrongUsage, fmt::format("--url: {}", url.error().message)});
  }
  TREATY_TRY(auto key, read_key(arguments));
  return RemoteAddress{.url = *url, .text = text, .key = std::move(key)};
}

}  // namespace treaty::cli
