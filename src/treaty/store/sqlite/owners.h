// Which processes run turns now: each holds a lock that the kernel lets go when the process ends,
// however it ends. No clock is asked, so no pause and no leap can take a turn from a live process.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "treaty/base/error.h"
#include "treaty/base/process/file_descriptor.h"

namespace treaty::store::sqlite {

// A file beside the database; the process with the number N locks its byte N. Numbers are never
// used twice.
class Owners {
 public:
  static std::expected<Owners, Error> open(const std::string& path);

  std::expected<void, Error> hold(std::int64_t number);

  // True when no process holds that number. This process' own numbers are not gone.
  bool is_gone(std::int64_t number) const;

  std::int64_t held() const { return held_; }  // 0: none.

 private:
  Owners(FileDescriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  FileDescriptor file_;
  std::int64_t held_ = 0;
  std::string path_;
};

}  // namespace treaty::store::sqlite
