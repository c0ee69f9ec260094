// Signals as the writer keeps them: in the order they came, each for one execution or for anyone.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "treaty/store/sqlite/machines/executions.h"

namespace treaty::store::sqlite {

std::expected<std::optional<std::string>, Error> take_signal(const Transaction& transaction,
                                                             const std::string& channel,
                                                             const MachineStore::Taken& taken,
                                                             const MachineWrite& waiting,
                                                             const std::string& owner);

std::vector<std::string> send_signal(const Transaction& transaction, const std::string& channel,
                                     const std::string& data);

}  // namespace treaty::store::sqlite
