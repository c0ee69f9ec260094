// Fetches in tests: a client with its own event loop, and what it tells its sink.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>
#include <string>

#include "treaty/http/client.h"

namespace treaty::testing {

inline http::Url local_url(std::uint16_t port, std::string target = "/", bool secure = false) {
  return {.secure = secure, .host = "127.0.0.1", .port = port, .target = std::move(target)};
}

// A client that knows no proxy unless it is told one.
class Fetcher {
 public:
  explicit Fetcher(http::ClientOptions options = {.proxy_from_environment = false})
      : client_(context_, std::move(options)) {}

  // Runs the loop until the fetch has its outcome.
  std::expected<http::Response, http::FetchFailure> fetch(const http::Url& url,
                                                          http::Request request = {},
                                                          http::FetchOptions options = {}) {
    std::optional<std::expected<http::Response, http::FetchFailure>> outcome;
    boost::asio::co_spawn(context_, client_.fetch_all(url, std::move(request), options),
                          [&outcome](const std::exception_ptr& exception, auto result) {
                            outcome = exception ? std::unexpected(http::FetchFailure{
                                                      http::FailureKind::malformed, "thrown"})
                                                : std::move(result);
                          });
    context_.restart();
    context_.run();
    return std::move(*outcome);
  }

  http::Client& client() { return client_; }
  boost::asio::io_context& context() { return context_; }

 private:
  boost::asio::io_context context_{1};
  http::Client client_;
};

}  // namespace treaty::testing
