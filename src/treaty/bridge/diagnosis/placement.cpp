#include "treaty/bridge/diagnosis/placement.h"

#include <fmt/format.h>

#include <algorithm>

namespace treaty::bridge {

Remedies::Remedies(const Surroundings& around) : exchanges_(around.exchanges) {
  remedies_.reserve(exchanges_.size());
  for (const Exchange& exchange : exchanges_) remedies_.push_back(remedy_for(exchange, around));
}

const Remedy& Remedies::of(const Exchange& exchange) const {
  return remedies_[static_cast<std::size_t>(&exchange - exchanges_.data())];
}

const Exchange* Remedies::place_of_answer_to(const Exchange& exchange) const {
  const auto found = std::ranges::find(remedies_, &exchange, &Remedy::owner);
  if (found == remedies_.end()) return nullptr;
  return &exchanges_[static_cast<std::size_t>(found - remedies_.begin())];
}

bool Remedies::are_swapped(const Exchange& one, const Exchange& other) const {
  return of(one).act == Act::swap && of(one).owner == &other && of(other).owner == &one;
}

std::string misplacement_text(const Remedy& remedy) {
  if (remedy.owner == nullptr) return {};
  const std::string text = fmt::format("answers {}, whose answer belongs in {}",
                                       remedy.owner->request.path, remedy.owner->response.path);
  if (remedy.act == Act::put_away) return text + "; that request has an answer already";
  if (remedy.act == Act::leave) return text + "; that file is in the way";
  return text;
}

std::string stray_text(const Exchange& wanted) {
  return fmt::format("answers this request, but the program looks for {}", wanted.response.path);
}

}  // namespace treaty::bridge
