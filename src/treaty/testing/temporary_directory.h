// A directory of its own for a test, gone afterwards.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace treaty::testing {

class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(
      const std::filesystem::path& place = std::filesystem::temp_directory_path()) {
    std::string pattern = (place / "treaty-test-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace treaty::testing
