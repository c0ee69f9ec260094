// Configurations for tests: files, variables and flags that exist nowhere else.
#pragma once

#include <map>
#include <string>

#include "treaty/config/load.h"

namespace treaty::testing {

// The process stands in /work, its user's home is /home/ada, and it is September 2026.
struct Given {
  std::string yaml{};  // treaty.yaml; empty: there is none.
  std::map<std::string, std::string, std::less<>> environment{};
  std::map<std::string, std::string, std::less<>> files{};
  config::Flags flags{};

  config::Sources sources() const;
};

// One line a problem; "" when there is none.
std::string problems_of(const Given& given);

// Fails the test when there is a problem.
config::Configuration loaded(const Given& given);

}  // namespace treaty::testing
