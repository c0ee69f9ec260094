// `budget` of an agent or of a tenant: what may be spent in a day.
#pragma once

#include <string_view>
#include <vector>

#include "treaty/config/sections/sections.h"

namespace treaty::config {

// `agent`: whose it is; empty for that of a tenant.
dispatch::Budget read_budget(Reader& reader, const yaml::Node& node, std::string_view agent,
                             Draft& draft);

std::vector<std::string_view> budget_keys();

}  // namespace treaty::config
