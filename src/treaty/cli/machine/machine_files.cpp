#include "treaty/cli/machine/machine_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "treaty/base/try.h"
#include "treaty/base/yaml.h"
#include "treaty/cli/input.h"

namespace treaty::cli {
namespace {

namespace fs = std::filesystem;

using Opened = std::expected<std::shared_ptr<const machines::Machine>, std::string>;

Opened machine_in(const machines::Loaded& loaded, const std::string& where) {
  if (loaded.machine) return loaded.machine;
  const Diagnostic& first = loaded.violations.front();
  return std::unexpected(fmt::format("{}:{}: {} {} (see: treaty machine check {})", where,
                                     first.line, first.rule, first.message, where));
}

}  // namespace

HookNames names_of(const machines::HookRegistry& hooks) {
  HookNames names;
  for (const auto& [name, _] : hooks) names.insert(name);
  return names;
}

std::expected<LoadedMachineFile, Error> read_machine_file(const std::string& path,
                                                          const HookNames& hooks) {
  TREATY_TRY(const auto text, read_input(path, yaml::ReadOptions().max_size));
  LoadedMachineFile file;
  std::error_code ignored;
  file.directory = path == "-" ? fs::current_path(ignored).string()
                               : fs::absolute(fs::path(path), ignored).parent_path().string();
  file.loaded = machines::load_machine(text, {.directory = file.directory, .hooks = hooks});
  return file;
}

machines::OpenMachine machine_opener(HookNames hooks) {
  const auto known = std::make_shared<std::map<std::string, Opened>>();
  return [hooks = std::move(hooks), known](const std::string& path,
                                           const std::string& directory) -> Opened {
    const std::string whole = (fs::path(directory) / path).lexically_normal().string();
    if (const auto found = known->find(whole); found != known->end()) return found->second;
    const auto file = read_machine_file(whole, hooks);
    Opened opened = file ? machine_in(file->loaded, whole)
                         : std::unexpected(fmt::format("{}: {}", whole, file.error().message));
    known->emplace(whole, opened);
    return opened;
  };
}

machines::ReadMachine machine_reader(HookNames hooks) {
  return [hooks = std::move(hooks)](const std::string& text, const std::string& directory) {
    return machine_in(machines::load_machine(text, {.directory = directory, .hooks = hooks}),
                      "the machine of this execution");
  };
}

}  // namespace treaty::cli
