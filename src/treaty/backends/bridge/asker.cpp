#include "treaty/backends/bridge/asker.h"

#include <unistd.h>

#include <array>
#include <boost/json/value.hpp>
#include <limits>

namespace treaty::backends {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::optional<std::string> find_text(const boost::json::object& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return std::string(value->get_string());
}

}  // namespace

// Containers share the boot of their machine and not its processes: they differ in their names.
bool Asker::is_gone() const { return host == host_name() && !bridge::is_running(process); }

Asker this_asker(double until) {
  return {.host = host_name(), .process = bridge::this_process(), .until = until};
}

void set_asker(contracts::BridgeRequest& request, const Asker& asker) {
  request.context[kAskedBy] = {{"host", asker.host},
                               {"pid", asker.process.pid},
                               {"started", asker.process.started},
                               {"boot", asker.process.boot},
                               {"until", asker.until}};
}

std::optional<Asker> find_asker(const contracts::BridgeRequest& request) {
  const auto* value = request.context.if_contains(kAskedBy);
  if (value == nullptr || !value->is_object()) return std::nullopt;
  const boost::json::object& object = value->get_object();
  auto host = find_text(object, "host");
  const auto* pid = object.if_contains("pid");
  auto started = find_text(object, "started");
  auto boot = find_text(object, "boot");
  const auto* until = object.if_contains("until");
  if (!host || pid == nullptr || !pid->is_int64() || pid->get_int64() < 1 ||
      pid->get_int64() > std::numeric_limits<pid_t>::max() || !started || !boot ||
      until == nullptr || !until->is_number()) {
    return std::nullopt;
  }
  return Asker{.host = *std::move(host),
               .process = {.pid = static_cast<pid_t>(pid->get_int64()),
                           .started = *std::move(started),
                           .boot = *std::move(boot)},
               .until = until->to_number<double>()};
}

}  // namespace treaty::backends
