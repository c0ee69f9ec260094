// How a script is read: as every YAML file (base/yaml_reader.h), with durations and points in an
// answer.
#pragma once

#include <chrono>
#include <optional>

#include "treaty/backends/scripted/script.h"
#include "treaty/base/yaml_reader.h"

namespace treaty::backends {

class ScriptReader final : public yaml::Reader {
 public:
  std::optional<std::chrono::milliseconds> duration(const yaml::Node& node);
  std::optional<Point> point(const yaml::Node& node);
};

template <class Target>
using ScriptMember = yaml::Member<ScriptReader, Target>;

// The reply that `node` holds, checked as a whole. A rule's `when` is passed over.
Reply read_reply(ScriptReader& reader, const yaml::Node& node);

void read_headers(ScriptReader& reader, const yaml::Node& node, Headers& headers);

}  // namespace treaty::backends
