// Opens any store by its address. The only place that knows which kinds there are.
//
//   auto store = open_store("sqlite:///var/lib/treaty/treaty.db", {.purpose = Purpose::read});
//   if (!store) return std::unexpected(store.error());
#pragma once

#include <expected>
#include <memory>
#include <string_view>

#include "treaty/store/store_options.h"

namespace treaty::store {

// `sqlite://PATH`. `wrong_usage` for any other address.
std::expected<std::unique_ptr<Store>, Error> open_store(std::string_view address,
                                                        StoreOptions options = {});

// A store for machines alone: `directory:PATH` or `memory:`.
std::expected<std::unique_ptr<MachineStore>, Error> open_machine_store(std::string_view address,
                                                                       StoreOptions options = {});

}  // namespace treaty::store
