// Owns a file descriptor and closes it.
//
//   const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
//   if (!file) return failure(errno);
//   read(file.get(), …);
#pragma once

#include <unistd.h>

#include <utility>

namespace treaty {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int number) : number_(number) {}  // Negative: there is none.
  FileDescriptor(FileDescriptor&& other) noexcept : number_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor() { close(); }

  explicit operator bool() const { return number_ >= 0; }
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

  // False, with errno, when the system says that not everything was written.
  bool close() { return number_ < 0 || ::close(release()) == 0; }

 private:
  int number_ = -1;
};

}  // namespace treaty
