#include "treaty/api/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "treaty/api/endpoints/endpoints.h"
#include "treaty/base/pieces.h"

namespace treaty::api {
namespace {

constexpr bool kOpen = true;  // Without a key.

constexpr std::array kRoutes = {
    Route{"POST", "v1/agent/execute", execute},
    Route{"POST", "api/ai/agent/execute", execute},
    Route{"GET", "v1/sessions", list_sessions},
    Route{"POST", "v1/sessions", open_session},
    Route{"GET", "v1/sessions/{}", show_session},
    Route{"DELETE", "v1/sessions/{}", delete_session},
    Route{"POST", "v1/sessions/{}/branch", branch_session},
    Route{"GET", "v1/sessions/{}/events", follow_events},
    Route{"GET", "v1/sessions/{}/turns", list_turns},
    Route{"GET", "v1/sessions/{}/turns/{}", show_turn},
    Route{"GET", "v1/sessions/{}/turns/{}/stream", follow_turn},
    Route{"POST", "v1/sessions/{}/turns/{}/cancel", cancel_turn},
    Route{"GET", "v1/sessions/{}/turns/{}/assistant", show_assistant},
    Route{"GET", "v1/sessions/{}/turns/{}/agent-result", show_agent_result},
    Route{"POST", "v1/assistant/respond", respond_as_assistant},
    Route{"POST", "v1/check/{}", check_document},
    Route{"GET", "v1/agents", list_agents},
    Route{"GET", "v1/limits", show_limits},
    Route{"GET", "schemas/{}", show_schema, kOpen},
    Route{"GET", "healthz", tell_health, kOpen},
    Route{"GET", "readyz", tell_readiness, kOpen},
    Route{"GET", "version", tell_version, kOpen},
};

constexpr std::string_view kName = "{}";

bool leads_to(std::string_view path, std::span<const std::string> segments) {
  for (const std::string& segment : segments) {
    if (path.empty()) return false;
    const std::string_view wanted = take_until(path, '/');
    if (wanted == kName ? segment.empty() : wanted != segment) return false;
  }
  return path.empty();
}

const Route* first_at(std::string_view path) {
  return &*std::ranges::find(kRoutes, path, &Route::path);
}

}  // namespace

std::span<const Route> routes() { return kRoutes; }

std::string addresses() {
  std::string lines;
  for (const Route& route : kRoutes) {
    if (&route != first_at(route.path)) continue;
    std::string path(route.path);
    for (std::size_t at = path.find(kName); at != std::string::npos; at = path.find(kName, at)) {
      path.replace(at, kName.size(), "ID");
    }
    lines += fmt::format("{}/{}: {}", lines.empty() ? "" : "\n", path, methods_at(route));
  }
  return lines;
}

const Route* find_path(std::span<const std::string> segments) {
  const auto found = std::ranges::find_if(
      kRoutes, [&](const Route& route) { return leads_to(route.path, segments); });
  return found == kRoutes.end() ? nullptr : &*found;
}

const Route* find_method(const Route& route, std::string_view method) {
  if (method == "HEAD") method = "GET";
  const auto found = std::ranges::find_if(kRoutes, [&](const Route& other) {
    return other.path == route.path && other.method == method;
  });
  return found == kRoutes.end() ? nullptr : &*found;
}

std::string methods_at(const Route& route) {
  std::string methods;
  for (const std::string_view method : {"GET", "HEAD", "POST", "DELETE"}) {
    if (find_method(route, method) != nullptr) methods.append(method).append(", ");
  }
  return methods + "OPTIONS";
}

std::vector<std::string> names_in(const Route& route, std::span<const std::string> segments) {
  std::vector<std::string> names;
  std::string_view path = route.path;
  for (const std::string& segment : segments) {
    if (take_until(path, '/') == kName) names.push_back(segment);
  }
  return names;
}

}  // namespace treaty::api
