#include "treaty/cli/shared/ask_result.h"

#include <fmt/format.h>

#include "treaty/base/text.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli {

using contracts::ErrorMessage;
using Kind = LineInput::Read::Kind;

ToolReply ask_result(LineInput& input, const contracts::ToolCall& call) {
  const auto read = input.next(fmt::format(
      "result of {} (JSON or text; nothing: it failed; /cancel) › ", harmless(call.name)));
  if (read.kind == Kind::end) return std::unexpected(Unanswered::left);
  if (read.kind != Kind::line || trimmed(read.line) == "/cancel") {
    return std::unexpected(Unanswered::cancelled);
  }
  if (is_blank(read.line)) return ErrorMessage{"The user gave no result."};
  if (!is_utf8(read.line)) return ErrorMessage{"What the user typed is not UTF-8."};
  return result_of_text(read.line);
}

}  // namespace treaty::cli
