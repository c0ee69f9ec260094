#include "treaty/cli/limits/limits_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "treaty/base/json.h"
#include "treaty/base/timestamp.h"
#include "treaty/cli/command_line.h"
#include "treaty/cli/shared/remote_round.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli::limits_watch {
namespace {

using Value = std::optional<json::Value>;

constexpr double kMost = 1e15;

std::optional<double> limit_in(const Value& object, std::string_view name) {
  const auto number = json::find_number(object, name);
  return number ? std::optional(std::clamp(*number, 0.0, kMost)) : std::nullopt;
}

double number_in(const Value& object, std::string_view name) {
  return limit_in(object, name).value_or(0);
}

std::int64_t count_in(const Value& object, std::string_view name) {
  return static_cast<std::int64_t>(number_in(object, name));
}

std::string text_in(const Value& object, std::string_view name) {
  return harmless(json::find_text(object, name));
}

bool flag_in(const Value& object, std::string_view name) {
  return json::is_true(json::find_member(object, name));
}

// Reads each element of the array of that name; none when there is no such array.
template <class Read>
auto list_in(const Value& object, std::string_view name, Read read) {
  std::vector<decltype(read(object))> list;
  const Value value = json::find_member(object, name);
  if (!value || !value->is_array()) return list;
  for (const json::Value element : value->elements()) list.push_back(read(element));
  return list;
}

LimitsView::Window window_of(const Value& value) {
  return {.name = text_in(value, "Name"),
          .limit = limit_in(value, "Limit"),
          .remaining = number_in(value, "Remaining"),
          .resets_in = number_in(value, "ResetsIn"),
          .refills = flag_in(value, "Refills")};
}

// Seconds since 1970; 0 for what is no timestamp.
double moment_in(const Value& object, std::string_view name) {
  return seconds_of_timestamp(json::find_text(object, name)).value_or(0);
}

std::optional<LimitsView::Decision> decision_of(const Value& value, double now) {
  if (!value || !value->is_object()) return std::nullopt;
  return LimitsView::Decision{.act = text_in(value, "Act"),
                              .rule = text_in(value, "Rule"),
                              .reason = text_in(value, "Reason"),
                              .ago = std::clamp(now - moment_in(value, "At"), 0.0, kMost)};
}

LimitsView::Pool pool_of(const Value& value, double now) {
  const Value breaker = json::find_member(value, "Breaker");
  return {.provider = text_in(value, "Provider"),
          .model = text_in(value, "Model"),
          .obstacle = text_in(value, "Obstacle"),
          .next_free_in = number_in(value, "NextFreeIn"),
          .waiting = count_in(value, "Waiting"),
          .running = count_in(value, "Running"),
          .windows = list_in(value, "Windows", window_of),
          .breaker = text_in(breaker, "State"),
          .failures = count_in(breaker, "Failures"),
          .probe_in = number_in(breaker, "ProbeIn"),
          .decision = decision_of(json::find_member(value, "Decision"), now)};
}

LimitsView::Budget budget_of(const Value& value) {
  return {.scope = text_in(value, "Scope"),
          .name = text_in(value, "Name"),
          .tokens = {.per_day = limit_in(value, "TokensPerDay"),
                     .spent = number_in(value, "TokensSpent"),
                     .reserved = number_in(value, "TokensReserved")},
          .dollars = {.per_day = limit_in(value, "DollarsPerDay"),
                      .spent = number_in(value, "DollarsSpent"),
                      .reserved = number_in(value, "DollarsReserved")},
          .resets_in = number_in(value, "ResetsIn")};
}

LimitsTrouble trouble_of(const http::FetchFailure& failure) {
  const bool is_wrong = failure.kind == http::FailureKind::bad_address;
  return {.exit_code = kUnavailable,
          .text = harmless(failure.message),
          .next = is_wrong ? "check --url" : "start a gateway there (treaty serve), or check --url",
          .may_pass = true};
}

LimitsTrouble trouble_of(const http::Response& response) {
  LimitsTrouble trouble{.exit_code = kBadConfiguration,
                        .text = fmt::format("HTTP status {}", response.status)};
  if (const auto error = first_error_of(response.body)) trouble.text += ": " + error->text;
  switch (response.status) {
    case 401:
    case 403:
      trouble.next = "name the variable that holds a key of that gateway with --key-env";
      break;
    case 404:
      trouble.next = "check --url: there is no gateway, or one that reports no limits";
      break;
    default:
      trouble.may_pass = response.status == 429 || response.status >= 500;
      trouble.exit_code = trouble.may_pass ? kTryLater : kViolated;
      trouble.next = trouble.may_pass ? "try again later" : "check --url";
  }
  return trouble;
}

}  // namespace

std::expected<LimitsView, std::string> parse_limits(std::string_view text) {
  const json::Document document(text);
  const Value root = document.root();
  const Value pools = json::find_member(root, "Pools");
  if (!document.faults().empty() || !pools || !pools->is_array()) {
    return std::unexpected("it answered with something else than limits");
  }
  const double now = moment_in(root, "At");
  return LimitsView{
      .at = text_in(root, "At"),
      .pools = list_in(root, "Pools", [now](const Value& pool) { return pool_of(pool, now); }),
      .budgets = list_in(root, "Budgets", budget_of)};
}

LimitsView without_times(LimitsView view) {
  view.at.clear();
  for (LimitsView::Pool& pool : view.pools) {
    pool.next_free_in = 0;
    pool.probe_in = 0;
    if (pool.decision) pool.decision->ago = 0;
    for (LimitsView::Window& window : pool.windows) {
      window.remaining = std::floor(window.remaining);
      window.resets_in = 0;
    }
  }
  for (LimitsView::Budget& budget : view.budgets) budget.resets_in = 0;
  return view;
}

AnsweredLimits read_limits_answer(const std::expected<http::Response, http::FetchFailure>& answer) {
  if (!answer) return std::unexpected(trouble_of(answer.error()));
  if (answer->status != 200) return std::unexpected(trouble_of(*answer));
  auto view = parse_limits(answer->body);
  if (!view) {
    return std::unexpected(LimitsTrouble{
        .exit_code = kViolated, .text = view.error(), .next = "check --url: is that a gateway?"});
  }
  const json::Document document(answer->body);
  return ToldLimits{json::minified(*document.root()), *std::move(view)};
}

}  // namespace treaty::cli::limits_watch
