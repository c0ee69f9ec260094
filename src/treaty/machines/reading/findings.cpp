#include "treaty/machines/reading/findings.h"

#include <algorithm>
#include <span>
#include <tuple>

namespace treaty::machines {

bool Findings::pin(const Place& name) {
  if (pinned_) return false;
  pinned_ = {name.line(), name.column()};
  return true;
}

void Findings::add(bool is_violation, std::string_view rule, const Place& place,
                   std::string message, std::string hint) {
  has_violation_ = has_violation_ || is_violation;
  if (is_full()) {
    ++uncounted_;
    return;
  }
  std::string where = place.pointer();
  if (!seen_.emplace(rule, where).second) return;
  const auto [line, column] = pinned_.value_or(std::pair(place.line(), place.column()));
  found_.push_back({.finding = {.rule = std::string(rule),
                                .line = line,
                                .column = column,
                                .where = std::move(where),
                                .message = std::move(message),
                                .hint = std::move(hint)},
                    .is_violation = is_violation,
                    .order = found_.size()});
}

void Findings::finish(Loaded& loaded) {
  // Violations first: a list of warnings alone would not say why the file is refused.
  std::ranges::sort(found_, {}, [](const Found& found) {
    return std::tuple(!found.is_violation, found.finding.line, found.finding.column, found.order);
  });
  const std::size_t listed = std::min(found_.size(), kMostListed);
  for (Found& found : std::span(found_).first(listed)) {
    auto& list = found.is_violation ? loaded.violations : loaded.warnings;
    list.push_back(std::move(found.finding));
  }
  loaded.more = found_.size() - listed + uncounted_;
}

}  // namespace treaty::machines
