// Failures as values. What a caller can do about one is in its code, what a person needs in its
// message.
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace treaty {

enum class ErrorCode {
  wrong_usage,     // The command line does not make sense.
  not_found,       // There is no file, session, turn or other thing of that name.
  is_directory,    // Where a file was expected.
  unreadable,      // A file or stream cannot be read.
  unwritable,      // A file or stream cannot be written.
  not_a_document,  // It can be read, but what it holds is of no use here.
  unavailable,     // A store that is full, read-only, locked or fails to read and write.
  corrupt,         // A store that is damaged.
  too_new,         // A store that a later version has written.
  conflict,        // It has changed meanwhile, or does not allow this now.
};

struct Error {
  ErrorCode code;
  std::string message;
  std::string where{};  // A file, an option; empty when the message says it all.
};

inline std::unexpected<Error> fail(ErrorCode code, std::string message, std::string where = {}) {
  return std::unexpected(Error{code, std::move(message), std::move(where)});
}

}  // namespace treaty
