#include "treaty/cli/shared/program_name.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

namespace treaty::cli {

TEST_CASE("the program is called by its name where that starts it, else by its path") {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("treaty-name-" + std::to_string(std::hash<std::string>()(__FILE__)));
  std::filesystem::create_directories(folder / "bin");
  std::ofstream(folder / "bin" / "treaty") << "x";
  const std::string file = folder / "bin" / "treaty";
  const std::string path = "/nowhere:" + (folder / "bin").string();

  CHECK(program_name(file, path, "/") == "treaty");
  CHECK(program_name(file, "/nowhere", folder) == "bin/treaty");
  CHECK(program_name(file, "/nowhere", folder / "bin") == "./treaty");
  CHECK(program_name(file, "/nowhere", "/somewhere/else") == file);
  CHECK(program_name("/a b/treaty", "", "/c") == "'/a b/treaty'");
  CHECK(program_name("", "", "/") == "treaty");

  std::filesystem::remove_all(folder);
}

}  // namespace treaty::cli
