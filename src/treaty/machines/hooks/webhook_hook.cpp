#include <fmt/format.h>

#include <array>

#include "treaty/base/json_dynamic.h"
#include "treaty/http/client.h"
#include "treaty/machines/hooks/arguments.h"
#include "treaty/machines/hooks/built_in_hooks.h"

namespace treaty::machines {

namespace asio = boost::asio;

namespace {

using Answer = std::expected<HookReply, std::string>;

constexpr std::size_t kLargestReply = std::size_t{16} << 20U;

struct Target {
  http::Url url{};
  std::string endpoint{};  // As it was written, without its query: for messages.
  std::string api_key{};
  std::chrono::milliseconds timeout{};
  bool is_required = false;
};

http::Request request_of(const Target& target, const HookEvent& event) {
  http::Request request{.method = "POST", .body = json::to_json(event)};
  request.headers.add("content-type", "application/json");
  request.headers.add("accept", "application/json");
  if (!target.api_key.empty()) {
    request.headers.add("authorization", fmt::format("Bearer {}", target.api_key));
  }
  return request;
}

Answer read_reply(const http::Response& response) {
  if (response.status < 200 || response.status > 299) {
    return std::unexpected(fmt::format("answered with status {}", response.status));
  }
  if (response.status == 204 || response.body.empty()) return HookReply{};
  const json::Document document(response.body, reply_options());
  const auto root = document.root();
  if (!document.faults().empty() || !root) {
    return std::unexpected("answered with something that is not JSON");
  }
  if (root->is_null()) return HookReply{};
  if (!root->is_object()) return std::unexpected("answered with JSON that is not an object");
  return json::to_dynamic_object(*root);
}

class Webhook final : public Hook {
 public:
  Webhook(Target target, BuiltInHooks options)
      : target_(std::move(target)), options_(std::move(options)) {}

  asio::awaitable<Answer> handle(const HookEvent& event) override {
    if (!options_.client) co_return std::unexpected("there is no client to call webhooks with");
    const http::FetchOptions limits{.timeouts = {.connect = target_.timeout,
                                                 .first_byte = target_.timeout,
                                                 .idle = target_.timeout,
                                                 .total = target_.timeout},
                                    .max_body_bytes = kLargestReply};
    const auto fetched =
        co_await options_.client->fetch_all(target_.url, request_of(target_, event), limits);
    const bool is_cancelled = !fetched && fetched.error().kind == http::FailureKind::cancelled;
    Answer answer = fetched ? read_reply(*fetched) : std::unexpected(fetched.error().message);
    if (answer) co_return answer;
    std::string text = fmt::format("the webhook {}: {}", target_.endpoint, answer.error());
    if (target_.is_required || is_cancelled) co_return std::unexpected(std::move(text));
    if (options_.log) options_.log(text);
    co_return HookReply{};
  }

  bool is_outside() const override { return true; }

 private:
  Target target_;
  BuiltInHooks options_;
};

}  // namespace

std::expected<std::shared_ptr<Hook>, std::string> make_webhook(const HookOrder& order,
                                                               const BuiltInHooks& options) {
  constexpr std::array<std::string_view, 4> kKnown = {"endpoint", "api_key", "timeout", "required"};
  Arguments arguments("webhook", order.arguments);
  arguments.allow(kKnown);
  Target target{.endpoint = arguments.required_text("endpoint"),
                .api_key = arguments.text("api_key").value_or(""),
                .timeout = arguments.seconds("timeout", kHookTimeout),
                .is_required = arguments.boolean("required", false)};
  if (!arguments.fault().empty()) return std::unexpected(arguments.fault());
  auto url = http::parse_url(target.endpoint);
  if (!url) arguments.refuse("endpoint", fmt::format("is not an address: {}", url.error().message));
  if (target.api_key.find_first_of("\r\n\0", 0, 3) != std::string::npos) {
    arguments.refuse("api_key", "holds a line break");
  }
  if (!arguments.fault().empty()) return std::unexpected(arguments.fault());
  target.url = *std::move(url);
  target.endpoint.resize(std::min(target.endpoint.find('?'), target.endpoint.size()));
  return std::make_shared<Webhook>(std::move(target), options);
}

}  // namespace treaty::machines
