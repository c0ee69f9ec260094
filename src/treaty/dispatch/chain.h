// The order in which the entries of a chain are asked. Pure.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "treaty/dispatch/choice.h"

namespace treaty::dispatch {

// By preference; equals in an order that is drawn by their weights. `dice` answers 0 to 1. The
// first is one without `on`, if there is any.
std::vector<const Choice*> order_of(std::span<const Choice> chain,
                                    const std::function<double()>& dice);

// Whether a failure with that code leads to this entry: what `on` says, else every failure that is
// not the call's own fault.
bool takes(const Choice& choice, std::string_view code);

// The first entry from `from` on that takes the failure.
std::optional<std::size_t> next_of(std::span<const Choice* const> order, std::size_t from,
                                   std::string_view code);

}  // namespace treaty::dispatch
