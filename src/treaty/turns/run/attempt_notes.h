// What dispatch does, as entries of the diary. Pure: each answers a JSON object.
#pragma once

#include <string>
#include <string_view>

#include "treaty/contracts/agent_result.h"
#include "treaty/dispatch/choice.h"

namespace treaty::turns {

std::string backend_data(const dispatch::Choice& choice);
std::string started_data(const dispatch::Choice& choice, int attempt);
std::string ended_data(const dispatch::Choice& choice, int attempt, dispatch::Seconds took,
                       const contracts::AgentResult& result);
std::string waiting_data(const dispatch::Choice& choice, dispatch::Seconds wait,
                         std::string_view reason);
std::string given_up_data(const dispatch::Choice& choice, std::string_view reason);
std::string switched_data(const dispatch::Choice& from, const dispatch::Choice& to,
                          std::string_view reason);

}  // namespace treaty::turns
