// The configuration in the words of treaty.yaml, with every default written out and every secret
// masked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "treaty/base/yaml.h"
#include "treaty/config/configuration.h"

namespace treaty::config {

enum class ShowPurpose {
  people,      // What `treaty config show` prints.
  comparison,  // Secrets and contents of files carry a digest behind kDigestMark.
};

constexpr std::string_view kDigestMark = "\x01";
constexpr std::string_view kContent = " (content)";  // After the key that names a file.

yaml::Node shown(const Configuration& configuration, ShowPurpose purpose = ShowPurpose::people);

// One line per difference: `path: changed`, `path: added`, `path: removed`. Values are left out:
// one may be a secret that a variable has supplied. Empty when nothing differs.
std::vector<std::string> changes_between(const Configuration& before, const Configuration& after);

// The tree as treaty.yaml would have it: a dollar is $$, but for the schemas of tools.
std::string yaml_of(const yaml::Node& node);

}  // namespace treaty::config
