// What every endpoint is given of one request. Belongs to the event loop of its worker.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>
#include <vector>

#include "treaty/api/answers.h"
#include "treaty/api/api.h"
#include "treaty/api/target.h"

namespace treaty::api {

struct RequestContext {
  turns::Engine& engine;
  turns::Worker& worker;
  OffloadPool& pool;
  http::Exchange& exchange;
  std::shared_ptr<const ApiSettings> settings;
  const turns::Renderer& renderer;  // Of the route.
  Target target{};
  std::vector<std::string> names{};  // The segments of the path that are the client's.
  std::string tenant{};

  const http::Request& request() const { return exchange.request(); }
  bool is_head() const { return request().method == "HEAD"; }
  store::Room room() const { return {tenant, names.at(0)}; }
  const std::string& turn_id() const { return names.at(1); }
};

template <class T>
using Refusable = boost::asio::awaitable<std::expected<T, turns::Refusal>>;

// What an endpoint returns: its response, or nothing, because it writes to the exchange itself.
using Reply = Refusable<http::Response>;
using Conversation = boost::asio::awaitable<void>;

// Whether the parameter `name` is `second`. It is `first` when it is absent; any other value is
// refused.
std::expected<bool, turns::Refusal> is_second_word(const Target& target, std::string_view name,
                                                   std::string_view first, std::string_view second);

}  // namespace treaty::api
