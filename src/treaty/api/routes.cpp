#include "treaty/api/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace treaty::api {
namespace {

constexpr std::string_view kGet = "GET, HEAD, OPTIONS";
constexpr std::string_view kPost = "POST, OPTIONS";

constexpr std::array kRoutes = {
    Route{Endpoint::execute, "v1/agent/execute", kPost},
    Route{Endpoint::execute, "api/ai/agent/execute", kPost},
    Route{Endpoint::sessions, "v1/sessions", "GET, HEAD, POST, OPTIONS"},
    Route{Endpoint::session, "v1/sessions/{}", "GET, HEAD, DELETE, OPTIONS"},
    Route{Endpoint::branch, "v1/sessions/{}/branch", kPost},
    Route{Endpoint::events, "v1/sessions/{}/events", kGet},
    Route{Endpoint::turns, "v1/sessions/{}/turns", kGet},
    Route{Endpoint::turn, "v1/sessions/{}/turns/{}", kGet},
    Route{Endpoint::turn_stream, "v1/sessions/{}/turns/{}/stream", kGet},
    Route{Endpoint::turn_cancel, "v1/sessions/{}/turns/{}/cancel", kPost},
    Route{Endpoint::turn_assistant, "v1/sessions/{}/turns/{}/assistant", kGet},
    Route{Endpoint::respond, "v1/assistant/respond", kPost},
    Route{Endpoint::check, "v1/check/{}", kPost},
    Route{Endpoint::agents, "v1/agents", kGet},
    Route{Endpoint::limits, "v1/limits", kGet},
    Route{Endpoint::schema, "schemas/{}", kGet, true},
    Route{Endpoint::health, "healthz", kGet, true},
    Route{Endpoint::readiness, "readyz", kGet, true},
    Route{Endpoint::version, "version", kGet, true},
};

constexpr std::string_view kName = "{}";

std::string_view take_segment(std::string_view& path) {
  const std::size_t end = path.find('/');
  const std::string_view segment = path.substr(0, end);
  path.remove_prefix(end == std::string_view::npos ? path.size() : end + 1);
  return segment;
}

bool leads_to(std::string_view path, std::span<const std::string> segments) {
  for (const std::string& segment : segments) {
    if (path.empty()) return false;
    const std::string_view wanted = take_segment(path);
    if (wanted == kName ? segment.empty() : wanted != segment) return false;
  }
  return path.empty();
}

}  // namespace

bool Route::allows(std::string_view method) const {
  std::string_view rest = methods;
  while (!rest.empty()) {
    const std::size_t end = rest.find(", ");
    if (rest.substr(0, end) == method) return true;
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 2);
  }
  return false;
}

std::span<const Route> routes() { return kRoutes; }

std::string addresses() {
  std::string lines;
  for (const Route& route : kRoutes) {
    std::string path(route.path);
    for (std::size_t at = path.find(kName); at != std::string::npos; at = path.find(kName, at)) {
      path.replace(at, kName.size(), "ID");
    }
    lines += fmt::format("{}/{}: {}", lines.empty() ? "" : "\n", path, route.methods);
  }
  return lines;
}

const Route* find_route(std::span<const std::string> segments) {
  const auto found = std::ranges::find_if(
      kRoutes, [&](const Route& route) { return leads_to(route.path, segments); });
  return found == kRoutes.end() ? nullptr : &*found;
}

std::vector<std::string> names_in(const Route& route, std::span<const std::string> segments) {
  std::vector<std::string> names;
  std::string_view path = route.path;
  for (const std::string& segment : segments) {
    if (take_segment(path) == kName) names.push_back(segment);
  }
  return names;
}

}  // namespace treaty::api
