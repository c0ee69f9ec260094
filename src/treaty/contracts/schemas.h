// JSON Schemas (2020-12) of the contracts: a second witness, for tools that know nothing of Treaty.
#pragma once

#include <string>

#include "treaty/contracts/contract.h"
#include "treaty/contracts/inspection/names.h"

namespace treaty::contracts {

// Whether the contract is read in two dialects, and so has two schemas.
bool has_dialects(Contract contract);

// The dialect matters only where the contract has two.
std::string schema_text(Contract contract, Dialect dialect = Dialect::pascal);

}  // namespace treaty::contracts
