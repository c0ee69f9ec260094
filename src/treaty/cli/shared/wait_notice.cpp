#include "treaty/cli/shared/wait_notice.h"

#include <fmt/format.h>

#include "treaty/base/json.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli {

std::optional<WaitNotice> notice_of(std::string_view kind, std::string_view data) {
  const json::Document document(data);
  const auto root = document.root();
  const auto text = [&](std::string_view name) { return harmless(json::find_text(root, name)); };
  WaitNotice notice{.seconds = json::find_number(root, "Seconds")};
  if (kind == "waiting") {
    notice.text = fmt::format("waiting for {}: {}", text("Backend"), text("Reason"));
  } else if (kind == "switched") {
    notice.text = fmt::format("going to {}: {}", text("To"), text("Reason"));
  } else if (kind == "machine.wait" && notice.seconds) {
    notice.text = fmt::format("{} waits for {} s in {}", text("Machine"),
                              json::find_member(root, "Seconds")->source(), text("State"));
  } else {
    return std::nullopt;
  }
  return notice;
}

std::optional<std::string> failed_attempt_of(std::string_view kind, std::string_view data) {
  if (kind != "attempt.failed") return std::nullopt;
  const json::Document document(data);
  const auto text = [&](std::string_view name) {
    return harmless(json::find_text(document.root(), name));
  };
  if (text("ErrorCode") == "aborted") return std::nullopt;
  const auto status = json::find_integer(document.root(), "Status");
  return fmt::format("{} ({}): {}{}", text("Backend"), text("Model"), text("ErrorCode"),
                     status ? fmt::format(" {}", *status) : "");
}

}  // namespace treaty::cli
