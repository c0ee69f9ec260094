// Programs that a benchmark starts, looks at and ends, and the folder they may write to.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace bench {

// A fresh folder next to the benchmark, on the disk of the build tree; gone with this object.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  // Writes a file into it and answers its path.
  std::string write(const std::string& name, const std::string& text) const;

 private:
  std::filesystem::path path_;
};

// A program that listens and says so with a line of JSON that has a `port`. Ended with this object.
class Program {
 public:
  Program(std::vector<std::string> arguments, const std::string& error_file);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  std::uint16_t port() const { return port_; }  // 0: it did not start.

  double cpu_seconds() const;  // User and system time, all threads.
  double resident_kilobytes() const;

  // SIGTERM, then waits.
  void end();

 private:
  pid_t process_ = -1;
  std::uint16_t port_ = 0;
};

// The program that is measured: `treaty` of the same build.
std::string treaty_binary();

// `treaty serve` with the agent `default`, its state in `state`, and what `more` adds to the
// configuration (lines of YAML).
std::vector<std::string> serve(const Folder& folder, const std::string& state,
                               const std::string& more);

std::vector<std::string> mock();

// As many files as the system allows; answers how many.
std::size_t raise_file_limit();

}  // namespace bench
