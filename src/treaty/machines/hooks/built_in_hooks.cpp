#include "treaty/machines/hooks/built_in_hooks.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <map>

#include "treaty/base/secrets.h"
#include "treaty/base/text.h"
#include "treaty/machines/run/agent_values.h"

namespace treaty::machines {
namespace {

using Answer = std::expected<HookReply, std::string>;

constexpr std::size_t kMostDetail = 300;  // Bytes.

// One line of it, whoever wrote it.
std::string detail(std::string_view text) {
  std::string line = mask_secrets(utf8_prefix(text, kMostDetail));
  std::ranges::replace_if(line, [](unsigned char c) { return c < ' ' || c == 127; }, ' ');
  return line;
}

std::string names_of_calls(const HookEvent& event) {
  std::string names;
  for (const Dynamic& call : or_empty(list_in(event, "tool_calls"))) {
    if (!call.is_object()) continue;
    if (!names.empty()) names += ", ";
    names += text_in(call.get_object(), "name");
  }
  return names;
}

std::string result_of_call(const HookEvent& event) {
  const boost::json::object* result = object_in(event, "tool_result");
  if (result == nullptr) return {};
  return fmt::format("{}{}", text_in(*result, "name"),
                     flag_in(*result, "is_error") ? " failed" : "");
}

class LoggingHook final : public Hook {
 public:
  explicit LoggingHook(HookLog log) : log_(std::move(log)) {}

  boost::asio::awaitable<Answer> handle(const HookEvent& event) override {
    if (log_) log_(line_about(event));
    co_return HookReply{};
  }

 private:
  HookLog log_;
};

class MetricsHook final : public Hook {
 public:
  explicit MetricsHook(HookLog log) : log_(std::move(log)) {}

  ~MetricsHook() override {
    if (!log_ || counts_.empty()) return;
    std::string line = fmt::format("metrics {}", detail(execution_));
    std::string_view separator = ":";
    for (const auto& [what, count] : counts_) {
      line += fmt::format("{} {} {}", separator, what, count);
      separator = ",";
    }
    log_(line);
  }
  MetricsHook(const MetricsHook&) = delete;
  MetricsHook& operator=(const MetricsHook&) = delete;

  boost::asio::awaitable<Answer> handle(const HookEvent& event) override {
    execution_ = text_in(event, "execution_id");
    const std::string_view kind = text_in(event, "event");
    const std::string_view state = text_in(event, kind == "transition" ? "from" : "state");
    std::string what = state.empty() ? std::string(kind) : fmt::format("{} {}", state, kind);
    ++counts_[detail(what)];
    co_return HookReply{};
  }

 private:
  HookLog log_;
  std::string execution_{};
  std::map<std::string, std::int64_t> counts_{};
};

}  // namespace

HookRegistry built_in_hooks(const BuiltInHooks& options) {
  return {
      {"logging", [log = options.log](const HookOrder&) { return make_logging_hook(log); }},
      {"metrics", [log = options.log](const HookOrder&) { return make_metrics_hook(log); }},
      {"webhook", [options](const HookOrder& order) { return make_webhook(order, options); }},
      {"command", make_command_hook},
      {"rate-limit", make_rate_limit_hook},
  };
}

std::string line_about(const HookEvent& event) {
  const std::string_view kind = text_in(event, "event");
  std::string more;
  if (kind == "transition") {
    more = fmt::format("{} -> {}", text_in(event, "from"), text_in(event, "to"));
  } else {
    more = text_in(event, "state");
    std::string about;
    if (kind == "action") about = text_in(event, "action");
    if (kind == "error") about = text_in(event, "error");
    if (kind == "tool_calls") about = names_of_calls(event);
    if (kind == "tool_result") about = result_of_call(event);
    if (!about.empty()) more += fmt::format(": {}", about);
  }
  return detail(fmt::format("machine {} {}{}{}", text_in(event, "execution_id"), kind,
                            more.empty() ? "" : " ", more));
}

std::shared_ptr<Hook> make_logging_hook(HookLog log) {
  return std::make_shared<LoggingHook>(std::move(log));
}

std::shared_ptr<Hook> make_metrics_hook(HookLog log) {
  return std::make_shared<MetricsHook>(std::move(log));
}

}  // namespace treaty::machines
