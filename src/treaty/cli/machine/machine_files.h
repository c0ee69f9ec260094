// Machine files for those who run them: read, or told what is wrong.
#pragma once

#include <expected>
#include <memory>
#include <set>
#include <string>

#include "treaty/machines/load.h"
#include "treaty/machines/run/runner.h"

namespace treaty::cli {

using HookNames = std::set<std::string, std::less<>>;

HookNames names_of(const machines::HookRegistry& hooks);

struct LoadedMachineFile {
  machines::Loaded loaded{};
  std::string directory{};  // Absolute: an execution may be resumed from elsewhere.
};

// The error is of the file itself.
std::expected<LoadedMachineFile, Error> read_machine_file(const std::string& path,
                                                          const HookNames& hooks);

// For machines that other machines name. Each file is read once.
machines::OpenMachine machine_opener(HookNames hooks);

// For executions that go on.
machines::ReadMachine machine_reader(HookNames hooks);

}  // namespace treaty::cli
