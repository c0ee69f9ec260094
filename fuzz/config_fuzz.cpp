// Fuzzes treaty.yaml: what is read can be shown and read again, and what is refused says where,
// without what the variables hold.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "require.h"
#include "treaty/config/load.h"
#include "treaty/config/show.h"

using namespace treaty;  // NOLINT: a target is one file.
using fuzz::require;

namespace {

constexpr std::string_view kSecret = "s3cretValueOfAVariable";

config::Sources sources_of(std::string text) {
  return {.flags = {.config = "treaty.yaml"},
          .environment = [](std::string_view name) -> std::optional<std::string> {
            if (name == "HOME") return "/home";
            if (name == "A") return std::string(kSecret);
            return std::nullopt;
          },
          .read_file = [text = std::move(text)](
                           const std::string& path) -> std::expected<std::string, Error> {
            if (path == "treaty.yaml") return text;
            return std::unexpected(Error{ErrorCode::unreadable, "cannot be read", path});
          },
          .file_exists = [](const std::string&) { return false; },
          .now = 1'790'000'000};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  if (text.contains(kSecret)) return 0;  // Written in the file, it is no secret.
  const auto loaded = config::load(sources_of(std::string(text)));
  if (!loaded) {
    require(!loaded.error().empty());
    for (const Diagnostic& problem : loaded.error()) {
      require(!problem.message.empty());
      require(!text_of(problem).contains(kSecret));
    }
    return 0;
  }
  require(!loaded->turns.agents.empty());
  for (const auto& [name, agent] : loaded->turns.agents) require(!agent.chain.empty());
  const std::string shown = config::yaml_of(config::shown(*loaded));
  const auto again = config::load(sources_of(shown));
  require(again.has_value());
  require(config::yaml_of(config::shown(*again)) == shown);
  return 0;
}
