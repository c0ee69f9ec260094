// The map of the server: every path it knows, and the methods each takes. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace treaty::api {

enum class Endpoint {
  execute,
  sessions,
  session,
  branch,
  events,
  turns,
  turn,
  turn_stream,
  turn_cancel,
  turn_assistant,
  respond,
  check,
  agents,
  limits,
  schema,
  health,
  readiness,
  version,
};

struct Route {
  Endpoint endpoint;
  std::string_view path;     // `{}` stands for a segment of the client's.
  std::string_view methods;  // As the Allow header names them.
  bool is_open = false;      // Needs no key.

  bool allows(std::string_view method) const;
};

// All of them.
std::span<const Route> routes();

// All of them for people, one a line, with the methods each takes.
std::string addresses();

// Null: there is nothing at that path. HEAD and OPTIONS are the caller's business.
const Route* find_route(std::span<const std::string> segments);

// The segments that stand where the route has `{}`, in order.
std::vector<std::string> names_in(const Route& route, std::span<const std::string> segments);

}  // namespace treaty::api
