#include "treaty/testing/configurations.h"

#include <doctest/doctest.h>

namespace treaty::testing {

config::Sources Given::sources() const {
  auto all = files;
  if (!yaml.empty()) all["treaty.yaml"] = yaml;
  auto variables = environment;
  variables.try_emplace("HOME", "/home/ada");
  return {.flags = flags,
          .environment = [variables](std::string_view name) -> std::optional<std::string> {
            const auto found = variables.find(name);
            return found == variables.end() ? std::nullopt : std::optional(found->second);
          },
          .read_file = [all](const std::string& path) -> std::expected<std::string, Error> {
            const auto found = all.find(path);
            if (found != all.end()) return found->second;
            return std::unexpected(
                Error{ErrorCode::unreadable, "cannot be read: No such file or directory", path});
          },
          .file_exists = [all](const std::string& path) { return all.contains(path); },
          .directory = "/work",
          .now = 1'790'000'000};
}

std::string problems_of(const Given& given) {
  const auto loaded = config::load(given.sources());
  std::string out;
  if (loaded) return out;
  for (const Diagnostic& problem : loaded.error()) out += text_of(problem) + "\n";
  return out;
}

config::Configuration loaded(const Given& given) {
  auto configuration = config::load(given.sources());
  CAPTURE(problems_of(given));
  REQUIRE(configuration);
  return *std::move(configuration);
}

}  // namespace treaty::testing
