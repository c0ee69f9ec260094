#include "treaty/bridge/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "treaty/base/pieces.h"
#include "treaty/base/text.h"

namespace treaty::bridge {
namespace {

constexpr std::string_view kRequest = ".agent-request";
constexpr std::string_view kResponse = ".agent-response";
constexpr std::string_view kEnd = ".json";
constexpr std::string_view kPhase = "-phase";
constexpr std::size_t kMostDigits = 9;

std::optional<std::string> suffix_between(std::string_view name, std::string_view stem) {
  if (!name.starts_with(stem) || !name.ends_with(kEnd)) return std::nullopt;
  if (name.size() < stem.size() + kEnd.size()) return std::nullopt;
  name.remove_prefix(stem.size());
  name.remove_suffix(kEnd.size());
  if (!name.empty() && !phase_of_suffix(name)) return std::nullopt;
  return std::string(name);
}

}  // namespace

std::optional<std::string> suffix_of_request(std::string_view file_name) {
  return suffix_between(file_name, kRequest);
}

std::optional<std::string> suffix_of_response(std::string_view file_name) {
  return suffix_between(file_name, kResponse);
}

std::string request_name(std::string_view suffix) {
  return fmt::format("{}{}{}", kRequest, suffix, kEnd);
}

std::string response_name(std::string_view suffix) {
  return fmt::format("{}{}{}", kResponse, suffix, kEnd);
}

std::string suffix_of_phase(std::int64_t phase) { return fmt::format("{}{}", kPhase, phase); }

std::optional<std::int64_t> phase_of_suffix(std::string_view suffix) {
  if (!suffix.starts_with(kPhase)) return std::nullopt;
  const std::string_view digits = suffix.substr(kPhase.size());
  if (digits.size() > kMostDigits || !std::ranges::all_of(digits, is_digit)) return std::nullopt;
  return parse_number<std::int64_t>(digits);
}

// Not lexically_normal(): behind a link, `..` is not where the text has it, and whoever opens the
// name looks there.
std::string path_in(std::string_view directory, std::string_view name) {
  std::filesystem::path path;
  for (const auto& part : std::filesystem::path(directory) / name) {
    if (part != ".") path /= part;
  }
  return path.string();
}

std::string lock_path(std::string_view directory) {
  return path_in(directory, fmt::format("{}/lock", kFolder));
}

std::string journal_path(std::string_view directory) {
  return path_in(directory, fmt::format("{}/journal.ndjson", kFolder));
}

std::string quarantine_path(std::string_view directory) {
  return path_in(directory, fmt::format("{}/quarantine", kFolder));
}

}  // namespace treaty::bridge
