// The only class that calls a provider: renders the request, sends it, reads the answer as it
// comes.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "treaty/backends/backend.h"
#include "treaty/backends/providers/provider.h"
#include "treaty/base/clock.h"
#include "treaty/http/client.h"
#include "treaty/results/agent_results.h"

namespace treaty::backends {

// AgentError::type of what no provider names: the call failed on this side of the wire.
namespace failure_types {
constexpr std::string_view kMissingKey = "MissingKey";
constexpr std::string_view kBadKey = "BadKey";
constexpr std::string_view kBadAddress = "BadAddress";
constexpr std::string_view kRefused = "ConnectionRefused";
constexpr std::string_view kReset = "ConnectionReset";
constexpr std::string_view kTls = "TlsFailure";
constexpr std::string_view kTimeout = "Timeout";
constexpr std::string_view kConnectTimeout = "ConnectTimeout";
constexpr std::string_view kFirstTokenTimeout = "FirstTokenTimeout";
constexpr std::string_view kStallTimeout = "StallTimeout";
constexpr std::string_view kTooLarge = "AnswerTooLarge";
constexpr std::string_view kMalformed = "MalformedAnswer";
constexpr std::string_view kCancelled = "Cancelled";
}  // namespace failure_types

// What a failure of the connection means to whoever made the call.
contracts::AgentError error_of(const http::FetchFailure& failure);

constexpr std::size_t kLargestAnswer = std::size_t{12} << 20U;

// Whom to call, and how.
struct HttpTarget {
  const Provider* provider = nullptr;
  const Protocol* protocol = nullptr;  // One that the provider speaks.
  std::string base_url{};              // As base_url_of() makes it.
  std::string key{};                   // Empty when there is none.
  // An answer that is larger would not fit into a document, which has 16 MiB at most.
  http::FetchOptions fetch{.max_body_bytes = kLargestAnswer};
};

// The usual timeouts, none of them longer than all of it may take.
http::Timeouts timeouts_within(std::chrono::milliseconds total);

// Belongs to the thread of its client. Many runs may go on at once.
class HttpBackend : public Backend {
 public:
  // Client and prices must outlive the backend.
  HttpBackend(http::Client& client, HttpTarget target, const results::PriceTable& prices,
              std::shared_ptr<const Clock> clock = system_clock());

  // Sends nothing when the key is missing although the provider requires one.
  boost::asio::awaitable<contracts::AgentResult> run(const Call& call, Sink& sink) override;

 private:
  http::Client& client_;
  HttpTarget target_;
  const results::PriceTable& prices_;
  std::shared_ptr<const Clock> clock_;
};

}  // namespace treaty::backends
