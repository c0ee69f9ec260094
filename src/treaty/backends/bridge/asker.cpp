#include "treaty/backends/bridge/asker.h"

#include <unistd.h>

#include <array>
#include <limits>

namespace treaty::backends {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

// Containers share the boot of their machine and not its processes: they differ in their names.
bool Asker::is_gone() const { return host == host_name() && !bridge::is_running(process); }

Asker this_asker(double until) {
  return {.host = host_name(), .process = bridge::this_process(), .until = until};
}

void set_asker(contracts::BridgeRequest& request, const Asker& asker) {
  request.context.set(kAskedBy, json::ObjectText{{"host", asker.host},
                                                 {"pid", asker.process.pid},
                                                 {"started", asker.process.started},
                                                 {"boot", asker.process.boot},
                                                 {"until", asker.until}});
}

std::optional<Asker> find_asker(const contracts::BridgeRequest& request) {
  const auto object = request.context.find_object(kAskedBy);
  if (!object) return std::nullopt;
  auto host = object->find_text("host");
  const auto pid = object->find_integer("pid");
  auto started = object->find_text("started");
  auto boot = object->find_text("boot");
  const auto until = object->find_number("until");
  if (!host || !pid || *pid < 1 || *pid > std::numeric_limits<pid_t>::max() || !started || !boot ||
      !until) {
    return std::nullopt;
  }
  return Asker{.host = *std::move(host),
               .process = {.pid = static_cast<pid_t>(*pid),
                           .started = *std::move(started),
                           .boot = *std::move(boot)},
               .until = *until};
}

}  // namespace treaty::backends
