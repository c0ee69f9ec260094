// Model profiles: a catalog (`spec: flatprofile`), and which model an agent means by what it says.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "treaty/backends/flatagent/flat_agent.h"
#include "treaty/backends/flatagent/reading.h"

namespace treaty::backends {

struct ProfileCatalog {
  std::map<std::string, Object, std::less<>> profiles{};
  std::string default_name{};   // Below everything else;
  std::string override_name{};  // above everything else.
};

// {spec: flatprofile, data: {model_profiles, default?, override?}}, or its data alone.
Read<ProfileCatalog> read_catalog(const Dynamic& document);

// The profile under a name, with default and override of its catalog, or the one that the catalog
// means by itself when nobody names one.
Read<Object> find_profile(const ProfileCatalog& catalog, const std::optional<std::string>& name);

// `inlined` over the profile that it names with `profile`, if any.
Read<Object> merged_profile(const ProfileCatalog& catalog, const Object& inlined);

// {type: llm, model: {…}}, or the model's own members. Profiles of programs (pi-agent, smolagents,
// claude-code, codex-cli) are refused with their name.
Read<ModelProfile> read_profile(const Object& profile);

}  // namespace treaty::backends
