#include "treaty/cli/shared/line_input.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "treaty/cli/terminal.h"

namespace treaty::cli {

LineInput::LineInput(int descriptor, Signals& signals)
    : descriptor_(descriptor), signals_(signals), terminal_(isatty(descriptor) == 1) {}

bool LineInput::take_line(std::string& line) {
  const std::size_t end = waiting_.find('\n', looked_);
  if (end == std::string::npos && !(ended_ && !waiting_.empty())) {
    looked_ = waiting_.size();
    return false;
  }
  line = waiting_.substr(0, end);
  waiting_.erase(0, end == std::string::npos ? waiting_.size() : end + 1);
  looked_ = 0;
  if (line.ends_with('\r')) line.pop_back();
  return true;
}

// False when nothing more can come.
bool LineInput::fill() {
  std::array<char, 65536> piece{};
  const ssize_t count = read(descriptor_, piece.data(), piece.size());
  if (count > 0) waiting_.append(piece.data(), static_cast<std::size_t>(count));
  return count > 0 || (count < 0 && (errno == EINTR || errno == EAGAIN));
}

LineInput::Read LineInput::next(std::string_view prompt) {
  Read read;
  if (terminal_) print_error("{}", prompt);
  for (;;) {
    if (take_line(read.line)) return {.kind = Read::Kind::line, .line = std::move(read.line)};
    if (ended_) return read;
    if (waiting_.size() > kLongest) {
      ended_ = true;
      waiting_.clear();
      return {.kind = Read::Kind::too_long};
    }
    std::array<pollfd, 2> sources = {pollfd{descriptor_, POLLIN, 0},
                                     pollfd{signals_.descriptor(), POLLIN, 0}};
    if (poll(sources.data(), sources.size(), -1) < 0) continue;
    if (sources[1].revents != 0) {
      if (const auto number = signals_.take()) {
        return {.kind = Read::Kind::signal, .signal = *number};
      }
    }
    if (sources[0].revents != 0 && !fill()) ended_ = true;
  }
}

}  // namespace treaty::cli
