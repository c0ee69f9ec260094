// Why a model stopped, in the contract's six words.
#pragma once

#include <string_view>

#include "treaty/results/answer.h"

namespace treaty::results {

// Of a complete answer without an error. A word that nobody knows is `stop`.
std::string_view finish_reason_of(const Answer& answer);

}  // namespace treaty::results
