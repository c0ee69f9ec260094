#include "treaty/cli/shared/program_name.h"

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "treaty/cli/terminal.h"

namespace treaty::cli {
namespace {

constexpr const char* kName = "treaty";

// What the shell starts under the name, if anything.
std::filesystem::path found_in(const std::string& path_variable) {
  std::istringstream folders(path_variable);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code missing;
    const std::filesystem::path file = std::filesystem::path(folder) / kName;
    if (std::filesystem::is_regular_file(file, missing)) return file;
  }
  return {};
}

}  // namespace

std::string program_name(const std::string& file, const std::string& path_variable,
                         const std::string& directory) {
  std::error_code missing;
  const std::filesystem::path found = found_in(path_variable);
  if (file.empty() || (!found.empty() && std::filesystem::equivalent(found, file, missing))) {
    return kName;
  }
  const std::filesystem::path relative = std::filesystem::path(file).lexically_relative(directory);
  const bool is_below = !relative.empty() && *relative.begin() != "..";
  const std::string name = is_below ? relative.string() : file;
  const std::string prefix = is_below && !name.contains('/') ? "./" : "";
  return shell_word(prefix + name);
}

std::string program_name() {
  std::error_code failed;
  const std::filesystem::path file = std::filesystem::read_symlink("/proc/self/exe", failed);
  const char* path = std::getenv("PATH");
  return program_name(file.string(), path == nullptr ? "" : path,
                      std::filesystem::current_path(failed).string());
}

}  // namespace treaty::cli
