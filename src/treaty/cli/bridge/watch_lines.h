// What a watcher tells of an answer, on a line of stdout.
#pragma once

#include <string>

#include "treaty/bridge/exchange.h"
#include "treaty/contracts/bridge_response.h"

namespace treaty::cli {

// "/work/a: phase 2 (review) · agent default · 1.2 s · 12 tokens in, 3 out · success".
std::string answer_line_of(const std::string& directory, const bridge::Exchange& exchange,
                           const contracts::BridgeResponse& response);

// The same as a JSON object.
std::string answer_object_of(const std::string& directory, const bridge::Exchange& exchange,
                             const contracts::BridgeResponse& response);

}  // namespace treaty::cli
