// The map of the server: one row for each method at each path, with the function that answers. A
// new endpoint is a function in endpoints/ and a row in routes.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "treaty/api/invoke_result_renderer.h"
#include "treaty/api/request_context.h"

namespace treaty::api {

// An endpoint that returns its response, or one that writes to the exchange itself.
using RouteHandler =
    std::variant<Reply (*)(const RequestContext&), Conversation (*)(RequestContext)>;

struct Route {
  std::string_view method;  // GET takes HEAD, too.
  std::string_view path;    // `{}` matches any one segment.
  RouteHandler handler;
  bool is_open = false;  // Needs no key.
  // Writes the answers and refusals of its family of routes.
  const turns::Renderer& (*renderer)() = invoke_result_renderer;
};

// All of them.
std::span<const Route> routes();

// All of them for people, one path a line, with the methods each takes.
std::string addresses();

// A row at that path, whatever its method. Null: there is nothing at it.
const Route* find_path(std::span<const std::string> segments);

// The row for a method at the path of `route`. Null: the path does not take it.
const Route* find_method(const Route& route, std::string_view method);

// The methods that its path takes, as the Allow header names them.
std::string methods_at(const Route& route);

// The segments that stand where the route has `{}`, in order.
std::vector<std::string> names_in(const Route& route, std::span<const std::string> segments);

}  // namespace treaty::api
