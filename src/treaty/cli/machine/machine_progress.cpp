#include "treaty/cli/machine/machine_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "treaty/cli/terminal.h"

namespace treaty::cli {

std::string progress_line(const machines::RunEvent& event, bool colors) {
  const std::string indent(static_cast<std::size_t>(event.depth) * 2 + 2, ' ');
  const std::string state = harmless(event.state);
  const std::string detail = harmless(event.detail);
  const auto& kind = event.kind;
  if (kind == "state") {
    return fmt::format("{}{:>3} {}", indent, event.step, painted(state, Color::bold, colors));
  }
  if (kind == "call") return fmt::format("{}    asks {}", indent, detail);
  if (kind == "answer" && detail != "ok") {
    return fmt::format("{}    {}", indent, painted(detail, Color::yellow, colors));
  }
  if (kind == "wait") return fmt::format("{}    waits {:.0f} s", indent, event.seconds);
  if (kind == "tool") return fmt::format("{}    uses {}", indent, detail);
  if (kind == "child") return fmt::format("{}    runs {}", indent, detail);
  if (kind == "launch") return fmt::format("{}    launches {}", indent, detail);
  if (kind == "error") {
    return fmt::format("{}    {}", indent, painted(detail, Color::red, colors));
  }
  return "";
}

void MachineProgress::on_event(const machines::RunEvent& event) {
  const std::string line = progress_line(event, std::getenv("NO_COLOR") == nullptr);
  if (!line.empty()) print_error("{}\n", line);
}

}  // namespace treaty::cli
