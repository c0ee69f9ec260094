// Lines from standard input, one at a time; a signal ends the waiting.
#pragma once

#include <string>
#include <string_view>

#include "treaty/cli/shared/signals.h"

namespace treaty::cli {

class LineInput {
 public:
  // Reads `descriptor`; somebody types when it is a terminal.
  LineInput(int descriptor, Signals& signals);

  struct Read {
    enum class Kind { line, end, signal, too_long } kind = Kind::end;
    std::string line{};
    int signal = 0;
  };

  // Asks with `prompt` when somebody types. After the end there is nothing but the end.
  Read next(std::string_view prompt);

  bool is_terminal() const { return terminal_; }

  static constexpr std::size_t kLongest = std::size_t{16} << 20U;

 private:
  bool take_line(std::string& line);
  bool fill();

  int descriptor_;
  Signals& signals_;
  bool terminal_;
  bool ended_ = false;
  std::string waiting_{};   // Bytes that no line was made of yet,
  std::size_t looked_ = 0;  // of which so many hold no line's end.
};

}  // namespace treaty::cli
