#include "treaty/backends/http_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <optional>

#include "treaty/backends/answer_reader.h"
#include "treaty/backends/providers/endpoint.h"

namespace treaty::backends {
namespace {

using contracts::AgentError;
using contracts::AgentResult;
using results::Exchange;

// A larger answer would not fit into a document, which has 16 MiB at most.
constexpr std::size_t kLargestAnswer = std::size_t{12} << 20U;

// Of the body of a message, framing included.
constexpr std::size_t kLargestBody = std::size_t{512} << 20U;

// Gives the pieces of the body to the reader, and the text that comes out to the caller.
class Receiver : public http::ResponseSink {
 public:
  Receiver(const Protocol& protocol, Sink& sink) : protocol_(protocol), sink_(sink) {}

  void on_head(const http::Response& head) override {
    status = head.status;
    headers = head.headers;
    reader.emplace(protocol_, head.status, headers, kLargestAnswer);
  }

  bool on_body(std::string_view bytes) override {
    const std::string_view text = reader->feed(bytes);
    if (const auto thinking = reader->thinking(); !thinking.empty()) sink_.on_thinking(thinking);
    if (!text.empty()) sink_.on_text(text);
    return !reader->is_hopeless() && sink_.wants_more();
  }

  bool is_satisfied() const override { return reader && reader->has_ended(); }
  std::size_t pieces() const override { return reader ? reader->pieces() : 0; }
  bool is_whole() const override { return reader && reader->is_whole(); }

  std::optional<int> status{};
  Headers headers{};
  std::optional<AnswerReader> reader{};  // From the head on.

 private:
  const Protocol& protocol_;
  Sink& sink_;
};

// A header must not be made to end early, or be split in two, by what stands in a variable.
bool can_be_sent(std::string_view key) {
  return std::ranges::all_of(key, [](char c) { return c > ' ' && c < 0x7F; });
}

std::optional<AgentError> key_error(const HttpTarget& target) {
  const Provider& provider = *target.provider;
  const std::string variables =
      fmt::format("{}", fmt::join(provider.key.environment_variables, " or "));
  AgentError error{.message = {}, .code = "auth_error", .type = {}, .retryable = false};
  if (target.key.empty() && provider.key.required) {
    error.type = failure_types::kMissingKey;
    error.message = fmt::format("{} needs a key: {} is not set", provider.name, variables);
    return error;
  }
  if (can_be_sent(target.key)) return std::nullopt;
  error.type = failure_types::kBadKey;
  error.message = fmt::format("the key in {} has characters that no key has", variables);
  return error;
}

http::FetchOptions options_of(const HttpTarget& target, const Call& call) {
  http::FetchOptions options = target.fetch;
  if (call.timeouts.connect) {
    options.timeouts.connect = std::min(options.timeouts.total, *call.timeouts.connect);
  }
  options.timeouts.first_piece = call.timeouts.first_token;
  options.timeouts.stall = call.timeouts.stall;
  return options;
}

// An answer that was cut off may have been whole already, or have had a status that says it all.
AgentResult result_of_cut(const Exchange& exchange, AnswerReader& reader,
                          const http::FetchFailure& failure) {
  AgentResult result = reader.finish(exchange);
  if (failure.kind == http::FailureKind::cancelled) {
    AgentResult aborted = results::result_of_error(exchange, error_of(failure), "aborted");
    aborted.usage = result.usage;  // What the provider has counted so far is spent.
    aborted.cost = result.cost;
    return aborted;
  }
  // Bytes that cannot be trusted make no answer, however whole it looks.
  const bool untrusted =
      failure.kind == http::FailureKind::malformed || failure.kind == http::FailureKind::too_large;
  if (untrusted && !result.error) {
    return results::result_of_error(exchange, error_of(failure));
  }
  if (result.error &&
      (result.error->type == "IncompleteAnswer" || result.error->type == "NotAnAnswer")) {
    result.error = error_of(failure);
  }
  return result;
}

std::string_view type_of(http::Timeout timeout) {
  switch (timeout) {
    case http::Timeout::connect: return failure_types::kConnectTimeout;
    case http::Timeout::first_piece: return failure_types::kFirstTokenTimeout;
    case http::Timeout::stall: return failure_types::kStallTimeout;
    default: return failure_types::kTimeout;
  }
}

}  // namespace

AgentError error_of(const http::FetchFailure& failure) {
  using namespace failure_types;
  const auto error = [&](std::string_view type, const char* code = "server_error") {
    return AgentError{
        .message = failure.message, .code = code, .type = std::string(type), .retryable = true};
  };
  switch (failure.kind) {
    case http::FailureKind::bad_address: return error(kBadAddress);
    case http::FailureKind::refused: return error(kRefused);
    case http::FailureKind::reset: return error(kReset);
    case http::FailureKind::tls: return error(kTls);
    case http::FailureKind::too_large: return error(kTooLarge);
    case http::FailureKind::malformed: return error(kMalformed);
    case http::FailureKind::timeout: return error(type_of(failure.timeout), "timeout");
    case http::FailureKind::cancelled: break;
  }
  return {.message = failure.message, .type = std::string(kCancelled), .retryable = false};
}

http::FetchOptions fetch_within(std::chrono::milliseconds total) {
  http::FetchOptions options{.max_body_bytes = kLargestBody};
  options.timeouts = {.connect = std::min(options.timeouts.connect, total),
                      .first_byte = total,
                      .idle = total,
                      .total = total};
  return options;
}

HttpBackend::HttpBackend(http::Client& client, HttpTarget target, const results::PriceTable& prices,
                         std::shared_ptr<const Clock> clock)
    : client_(client), target_(std::move(target)), prices_(prices), clock_(std::move(clock)) {}

boost::asio::awaitable<AgentResult> HttpBackend::run(const Call& call, Sink& sink) {
  // A cancelled call still has its result.
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  const Provider& provider = *target_.provider;
  Receiver receiver(*target_.protocol, sink);
  Exchange exchange{.provider = provider.name,
                    .headers = receiver.headers,
                    .now = unix_seconds(clock_->wall_now()),
                    .plain_limits = provider.plain_limits,
                    .prices = &prices_,
                    .known_secret = target_.key,
                    .wants_output = call.output.has_value()};
  if (auto error = key_error(target_)) {
    co_return results::result_of_error(exchange, *std::move(error));
  }
  const auto url = address_of(provider, target_.base_url, *target_.protocol, call);
  if (!url) {
    co_return results::result_of_error(exchange, {.message = url.error().message,
                                                  .code = "invalid_request",
                                                  .type = std::string(failure_types::kBadAddress),
                                                  .retryable = false});
  }
  if (!target_.protocol->takes_pictures && has_pictures(call.messages)) sink.on_pictures_left_out();
  http::Request request{.method = "POST",
                        .target = url->target,
                        .headers = headers_of(provider, *target_.protocol, target_.key, call),
                        .body = target_.protocol->render_request(call, provider.style)};
  const auto fetched =
      co_await client_.fetch(*url, std::move(request), options_of(target_, call), receiver);
  exchange.status = receiver.status;
  exchange.now = unix_seconds(clock_->wall_now());
  if (!receiver.reader) {
    const http::FetchFailure failure =
        fetched ? http::FetchFailure{http::FailureKind::reset, "no answer came"} : fetched.error();
    const bool aborted = failure.kind == http::FailureKind::cancelled;
    co_return results::result_of_error(exchange, error_of(failure), aborted ? "aborted" : "error");
  }
  const std::size_t heard = receiver.reader->bytes();
  AgentResult result = fetched ? receiver.reader->finish(exchange)
                               : result_of_cut(exchange, *receiver.reader, fetched.error());
  if (result.error) {
    sink.on_cut(heard);
    co_return result;
  }
  // A plain answer is one piece, and an event without its blank line is read at the end.
  if (const auto thinking = receiver.reader->thinking(); !thinking.empty()) {
    sink.on_thinking(thinking);
  }
  if (const auto rest = receiver.reader->last_text(result); !rest.empty()) sink.on_text(rest);
  Thoughts thoughts{.author = call.author,
                    .parts = receiver.reader->take_thoughts(),
                    .lasting = wants_earlier_thoughts(provider, *target_.protocol, call.model)};
  const bool is_kept = !call.author.empty() && takes_thoughts(provider, *target_.protocol);
  if (!is_kept || thoughts.parts.empty()) co_return result;
  if (can_go_back(thoughts.parts)) {
    sink.on_thoughts(std::move(thoughts));
  } else {
    sink.on_thoughts_left_out("a part of them is no JSON that a request may hold");
  }
  co_return result;
}

}  // namespace treaty::backends
