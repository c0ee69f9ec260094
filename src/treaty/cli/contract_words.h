// The names of the contracts as words of a command line.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "treaty/contracts/contract.h"

namespace treaty::cli {

// All of them, and what else may stand in their place.
inline std::vector<std::string> contract_words(std::initializer_list<std::string> more = {}) {
  std::vector<std::string> words;
  words.reserve(contracts::kContracts.size() + more.size());
  for (const contracts::Contract one : contracts::kContracts) words.emplace_back(name_of(one));
  words.insert(words.end(), more);
  return words;
}

}  // namespace treaty::cli
