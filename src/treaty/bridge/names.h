// The names of the bridge's files. A request and its answer share a suffix, so that no two phases
// share a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace treaty::bridge {

constexpr int kNeedAgent = 42;  // A program leaves with it when it has asked.

constexpr std::string_view kFolder = ".treaty-bridge";  // What treaty keeps beside the files.
constexpr std::string_view kResumeFlag = "--resume";    // Added when a program is run again.

// The member of a request's context that says which server asks.
constexpr std::string_view kAskedBy = "asked_by";

// The suffix is empty for `.agent-request.json` and "-phase3" for `.agent-request-phase3.json`.
// Nothing for every other name.
std::optional<std::string> suffix_of_request(std::string_view file_name);
std::optional<std::string> suffix_of_response(std::string_view file_name);

std::string request_name(std::string_view suffix);
std::string response_name(std::string_view suffix);
std::string suffix_of_phase(std::int64_t phase);

// The number in a suffix; nothing for the empty one.
std::optional<std::int64_t> phase_of_suffix(std::string_view suffix);

// `name` as a path in `directory`, unless it is absolute; `.` is left out, `..` stays.
std::string path_in(std::string_view directory, std::string_view name);

// Files of treaty's own in a directory.
std::string lock_path(std::string_view directory);
std::string journal_path(std::string_view directory);
std::string quarantine_path(std::string_view directory);

}  // namespace treaty::bridge
