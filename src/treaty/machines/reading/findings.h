// What was found while a machine was read: bounded in number, each place and rule once.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "treaty/machines/load.h"
#include "treaty/machines/reading/place.h"

namespace treaty::machines {

class Findings {
 public:
  void violate(std::string_view rule, const Place& place, std::string message,
               std::string hint = {}) {
    add(true, rule, place, std::move(message), std::move(hint));
  }
  void warn(std::string_view rule, const Place& place, std::string message, std::string hint = {}) {
    add(false, rule, place, std::move(message), std::move(hint));
  }

  bool has_violation() const { return violations_ > 0; }

  // Whether another one would only be counted: then nobody needs to look for a hint.
  bool is_full() const { return violations_ >= kMostKept; }

  // From here on everything is reported at the name of this inline machine. Answers whether that
  // is new: one inside of another is reported at the outer name.
  bool pin(const Place& name);
  void unpin() { pinned_.reset(); }

  // In the order of the file, the first kMostListed of them.
  void finish(std::string_view text, Loaded& loaded);

 private:
  // Of either kind. More than are listed, since they are not found in the order of the file.
  static constexpr std::size_t kMostKept = 10'000;

  struct Found {
    MachineFinding finding;
    bool is_violation;
    std::size_t order;  // In which it was found.
  };

  void add(bool is_violation, std::string_view rule, const Place& place, std::string message,
           std::string hint);

  std::vector<Found> found_{};
  std::set<std::pair<std::string, std::string>> seen_{};  // Rule and place.
  std::size_t unlisted_ = 0;                              // Beyond what is kept.
  std::optional<std::pair<int, int>> pinned_{};           // Line and column.
  std::size_t violations_ = 0;                            // Kept.
  std::size_t warnings_ = 0;
};

// The readers of texts count bytes in a column. Gives findings, which are in the order of the file,
// their offsets and columns of characters.
void settle_places(std::string_view text, std::vector<MachineFinding>& findings);

}  // namespace treaty::machines
