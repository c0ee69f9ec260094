#include "treaty/cli/limits/limits_source.h"

#include <fmt/format.h>

#include "treaty/base/json.h"
#include "treaty/cli/command_line.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli::limits_watch {
namespace {

// Whoever watches wants to know soon that nobody answers.
constexpr http::FetchOptions kOptions{.timeouts = {.connect = std::chrono::seconds(5),
                                                   .first_byte = std::chrono::seconds(10),
                                                   .idle = std::chrono::seconds(10),
                                                   .total = std::chrono::seconds(20)}};

http::Url url_of_limits(http::Url url) {
  while (url.target.ends_with('/')) url.target.pop_back();
  url.target += "/v1/limits";
  return url;
}

LimitsTrouble trouble_of(const http::FetchFailure& failure) {
  const bool is_wrong = failure.kind == http::FailureKind::bad_address;
  return {.exit_code = kUnavailable,
          .text = harmless(failure.message),
          .next = is_wrong ? "check --url" : "start a gateway there (treaty serve), or check --url",
          .may_pass = true};
}

// The first error of an InvokeResult; nothing when it is none.
std::string message_in(const http::Response& response) {
  const json::Document document(response.body);
  const auto errors = json::find_member(document.root(), "Errors");
  if (!errors || !errors->is_array() || errors->elements().empty()) return {};
  const json::Value first = *errors->elements().begin();
  return fmt::format(": {}: {}", harmless(json::find_text(first, "ErrorCode")),
                     harmless(json::find_text(first, "Message")));
}

LimitsTrouble trouble_of(const http::Response& response) {
  LimitsTrouble trouble{
      .exit_code = kBadConfiguration,
      .text = fmt::format("HTTP status {}{}", response.status, message_in(response))};
  switch (response.status) {
    case 401:
    case 403:
      trouble.next = "name the variable that holds a key of that gateway with --key-env";
      break;
    case 404: trouble.next = "check --url: there is no gateway, or one that tells no limits"; break;
    default:
      trouble.may_pass = response.status == 429 || response.status >= 500;
      trouble.exit_code = trouble.may_pass ? kTryLater : kViolated;
      trouble.next = trouble.may_pass ? "try again later" : "check --url";
  }
  return trouble;
}

}  // namespace

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

LimitsSource::LimitsSource(boost::asio::io_context& context, RemoteAddress address)
    : url_(url_of_limits(std::move(address.url))),
      text_(harmless(address.text)),
      key_(std::move(address.key)),
      client_(context, {.proxy_from_environment = address.through_proxy}) {}

boost::asio::awaitable<AnsweredLimits> LimitsSource::ask() {
  http::Request request;
  request.headers.set("accept", "application/json");
  request.headers.set("user-agent", "treaty/" TREATY_VERSION);
  if (!key_.empty()) request.headers.set("authorization", "Bearer " + key_);
  co_return read_limits_answer(co_await client_.fetch_all(url_, std::move(request), kOptions));
}

}  // namespace treaty::cli::limits_watch
