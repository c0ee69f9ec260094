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
  std::size_t& kept = is_violation ? violations_ : warnings_;
  if (kept >= kMostKept) {
    ++unlisted_;
    return;
  }
  std::string where = place.pointer();
  if (!seen_.emplace(rule, where).second) return;
  ++kept;
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

void Findings::finish(std::string_view text, Loaded& loaded) {
  // Violations first: a list of warnings alone would not say why the file is refused.
  std::ranges::sort(found_, {}, [](const Found& found) {
    return std::tuple(!found.is_violation, found.finding.line, found.finding.column, found.order);
  });
  const std::size_t listed = std::min(found_.size(), kMostListed);
  for (Found& found : std::span(found_).first(listed)) {
    auto& list = found.is_violation ? loaded.violations : loaded.warnings;
    list.push_back(std::move(found.finding));
  }
  loaded.more = found_.size() - listed + unlisted_;
  settle_places(text, loaded.violations);
  settle_places(text, loaded.warnings);
}

void settle_places(std::string_view text, std::vector<MachineFinding>& findings) {
  std::size_t at = 0;
  int line = 1;
  std::size_t line_begin = 0;
  int characters = 0;  // Between the beginning of the line and `at`.
  for (MachineFinding& finding : findings) {
    for (; line < finding.line && at < text.size(); ++at) {
      if (text[at] != '\n') continue;
      ++line;
      line_begin = at + 1;
      characters = 0;
    }
    const std::size_t end = line_begin + static_cast<std::size_t>(finding.column) - 1;
    for (; at < std::min(end, text.size()) && text[at] != '\n'; ++at) {
      if ((static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U) ++characters;
    }
    finding.line = line;
    finding.column = characters + 1;
    finding.offset = at;
  }
}

}  // namespace treaty::machines
