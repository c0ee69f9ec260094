// Reads FlatAgent documents of all versions: 1 to 3 (one file with model and prompts) and 4 (a
// prompt and a profile, each inline or in a file of its own).
#pragma once

#include <string>

#include "treaty/backends/flatagent/flat_agent.h"

namespace treaty::backends {

struct FlatAgentPlace {
  std::string directory = ".";     // Of the document: paths in it start there.
  std::string parent_directory{};  // Where else to look for profiles.yml: beside the machine.
  ReadText read_text{};            // An error also when there is no such file.
};

// The error is the first thing that is wrong, with the file when it is not in the document itself.
Read<FlatAgent> read_flat_agent(const Dynamic& document, const FlatAgentPlace& place);

}  // namespace treaty::backends
