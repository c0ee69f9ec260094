#include "treaty/dispatch/chain.h"

#include <algorithm>
#include <utility>

namespace treaty::dispatch {
namespace {

// Brings one of [begin, end) to the front, the heavier the likelier.
void draw(std::span<const Choice*> equals, double dice) {
  double total = 0;
  for (const Choice* choice : equals) total += choice->weight;
  double at = dice * total;
  for (const Choice*& choice : equals) {
    at -= choice->weight;
    if (at < 0) {
      std::swap(choice, equals.front());
      return;
    }
  }
}

}  // namespace

std::vector<const Choice*> order_of(std::span<const Choice> chain,
                                    const std::function<double()>& dice) {
  std::vector<const Choice*> order;
  order.reserve(chain.size());
  for (const Choice& choice : chain) order.push_back(&choice);
  if (order.size() < 2) return order;
  std::ranges::sort(order, {}, [](const Choice* choice) {
    return std::pair(choice->preference, choice);  // As they stand in the chain.
  });
  for (std::size_t first = 0; first + 1 < order.size(); ++first) {
    std::size_t end = first + 1;
    while (end < order.size() && order[end]->preference == order[first]->preference) ++end;
    if (end - first > 1) draw(std::span(order).subspan(first, end - first), dice());
  }
  // Whoever takes only some failures is not asked before there is one, but has its turn then.
  const auto usual = std::ranges::find_if(order, [](const Choice* one) { return one->on.empty(); });
  if (usual != order.end()) std::rotate(order.begin(), usual, usual + 1);
  return order;
}

bool takes(const Choice& choice, std::string_view code) {
  if (choice.on.empty()) return !is_own_fault(code);
  return std::ranges::find(choice.on, code) != choice.on.end();
}

std::optional<std::size_t> next_of(std::span<const Choice* const> order, std::size_t from,
                                   std::string_view code) {
  for (std::size_t i = from; i < order.size(); ++i) {
    if (takes(*order[i], code)) return i;
  }
  return std::nullopt;
}

}  // namespace treaty::dispatch
