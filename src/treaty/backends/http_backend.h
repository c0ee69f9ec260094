// The only class that calls a provider: renders the request, sends it, reads the answer as it
// comes.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "treaty/backends/backend.h"
#include "treaty/backends/failure_types.h"
#include "treaty/backends/providers/provider.h"
#include "treaty/base/clock.h"
#include "treaty/http/client.h"
#include "treaty/results/agent_results.h"

namespace treaty::backends {

// How a provider is called: the answer may take `total`, however long it is silent meanwhile.
http::FetchOptions fetch_within(std::chrono::milliseconds total);

// What a failure of the connection means to whoever made the call.
contracts::AgentError error_of(const http::FetchFailure& failure);

// Whom to call, and how.
struct HttpTarget {
  const Provider* provider = nullptr;
  const Protocol* protocol = nullptr;  // One that the provider speaks.
  std::string base_url{};              // As base_url_of() makes it.
  std::string key{};                   // Empty when there is none.
  http::FetchOptions fetch = fetch_within(std::chrono::minutes(10));
};

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
