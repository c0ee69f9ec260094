// Machine files: read for those who run them, and checked for those who write them.
#pragma once

#include <expected>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/cli/check/check_report.h"
#include "treaty/machines/load.h"
#include "treaty/machines/run/runner.h"

namespace treaty::cli {

using HookNames = std::set<std::string, std::less<>>;

HookNames names_of(const machines::HookRegistry& hooks);

// The error is of the file itself.
std::expected<machines::Loaded, Error> read_machine_file(const std::string& path,
                                                         const HookNames& hooks);

// For machines that other machines name. Each file is read once.
machines::OpenMachine machine_opener(HookNames hooks);

// For executions that go on.
machines::ReadMachine machine_reader(HookNames hooks);

// --- What is wrong with them

// One file that was checked, or could not be.
struct CheckedMachine {
  std::string file;
  std::string text{};
  machines::Loaded loaded{};
  std::optional<std::string> trouble{};  // Why there is no verdict.

  bool valid() const { return !trouble && loaded.violations.empty(); }
  void count(CheckTally& tally) const;
};

// Reads the file ("-": standard input) and looks at it. `hooks` are registered beside the built-in
// ones.
CheckedMachine check_machine(const std::string& path, const std::vector<std::string>& hooks);

// Like a compiler's: place, rule, message, the line with a caret, the hint.
std::string human_report(const CheckedMachine& checked, bool colors);

// One JSON object on one line.
std::string json_report(const CheckedMachine& checked);

// Tells why a machine is not run, on stdout for programs, and answers the exit code.
int refuse_machine(std::string_view command, const std::string& path, machines::Loaded loaded,
                   bool is_json);

}  // namespace treaty::cli
