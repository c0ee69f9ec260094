// The HTTP face of the gateway: finds the route, authenticates, answers. One Api a worker.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/api/access.h"
#include "treaty/api/target.h"
#include "treaty/base/offload_pool.h"
#include "treaty/http/server.h"
#include "treaty/turns/engine.h"

namespace treaty::api {

struct Route;

// Replaced as a whole by a reload, on the worker's thread.
struct ApiSettings {
  std::vector<ApiKey> keys{};  // None: everybody is the tenant `local`.
  bool always_200 = false;     // Execute requests are always answered with status 200.
  std::size_t max_body_bytes = std::size_t{16} << 20U;
};

// Belongs to the thread of its worker. Engine and worker outlive it.
class Api {
 public:
  // The worker has a pool.
  Api(turns::Engine& engine, turns::Worker& worker, std::shared_ptr<const ApiSettings> settings);

  // No coroutine of its own: an idle stream holds the frame of its endpoint and none besides.
  boost::asio::awaitable<void> handle(http::Exchange& exchange);

  // For the head of a request whose body has not come yet: the refusal that does not depend on the
  // body. handle() checks the same again.
  std::optional<http::Response> admit(const http::Request& head) const;

  void configure(std::shared_ptr<const ApiSettings> settings);

  // For what http::Server refuses itself: a header too large, a body too large, bad framing.
  static http::Response refusal(int status, std::string_view message);

 private:
  struct Admitted {
    const Route& route;
    Target target;
    std::string tenant;
  };
  std::expected<Admitted, http::Response> look_at(const http::Request& request) const;

  turns::Engine& engine_;
  turns::Worker& worker_;
  std::shared_ptr<const ApiSettings> settings_;
};

}  // namespace treaty::api
