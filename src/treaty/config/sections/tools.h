// The tools that an agent may call.
#pragma once

#include <string_view>
#include <vector>

#include "treaty/config/reader.h"
#include "treaty/turns/settings.h"

namespace treaty::config {

// The list `tools` of an agent or a conversation.
std::vector<turns::ClientTool> read_tools(Reader& reader, const yaml::Node& list);

std::vector<std::string_view> tool_keys();

}  // namespace treaty::config
