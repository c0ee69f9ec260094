// The chain of backends of an agent, and the order in which its entries are asked. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/backends/call.h"
#include "treaty/dispatch/policy.h"

namespace treaty::dispatch {

// One entry: whom to ask, for what, when, and how patiently.
struct Choice {
  std::string backend;  // A name that the dispatcher knows: a configured provider or a script.
  std::string model{};
  std::int64_t context_window = 128'000;  // Tokens that fit into a call and its answer.
  std::optional<std::int64_t> max_output_tokens{};
  std::optional<double> temperature{};
  std::optional<backends::Reasoning> reasoning{};
  bool caches = true;             // Its provider may keep prompts for the calls that follow.
  int preference = 0;             // Lower ones first; those with the same are equals,
  int weight = 1;                 // of which one is drawn, more often the heavier it is.
  std::vector<std::string> on{};  // Codes of failures that lead here; none: the usual ones.
  Policy policy{};
  bool operator==(const Choice&) const = default;
};

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
