// Secrets that this process knows: masked in every text, whatever their shape and spelling.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/base/masking/spelling.h"

namespace treaty {

// Masking a shorter secret would destroy words that have nothing to do with it.
constexpr std::size_t kShortestKnown = 8;

// Finds them wherever they stand in a text, in every spelling of match_spelled(). Does not change,
// so it may be read from any thread.
class KnownSecrets {
 public:
  KnownSecrets() = default;
  explicit KnownSecrets(std::span<const std::string> secrets);

  // These and more.
  KnownSecrets with(std::span<const std::string> more) const;

  // The text with `***` in the place of each; nothing when there is none in it.
  std::optional<std::string> masked(std::string_view text) const;

  // False: masked() finds nothing in the text, nor in any part of it. A quick first glance.
  bool may_be_in(std::string_view text) const;

 private:
  friend class MaskedPieces;

  // A place where a secret begins, or where the text ends before it is known whether one does.
  struct Place {
    std::size_t begin;
    std::size_t size;  // Bytes of the longest complete secret here; 0: none.
    bool is_open;      // More text may complete a longer one.
    std::size_t most;  // Bytes to mask if the text ends here within a secret; 0: none.
  };
  std::optional<Place> find(std::string_view text, std::size_t from) const;

  void add(const std::string& secret);

  std::vector<std::string> secrets_{};
  SpelledBeginnings beginnings_{};
};

// The same for a text that comes in pieces, however it is cut: joined, what feed() and finish()
// give is what masked() makes of the whole. Only what may be the beginning of a secret is held
// back.
class MaskedPieces {
 public:
  // The secrets must outlive it.
  explicit MaskedPieces(const KnownSecrets& secrets) : secrets_(secrets) {}

  // Each is valid until the next call, and as long as `piece` is.
  std::string_view feed(std::string_view piece);
  std::string_view finish();

 private:
  std::string_view take(bool is_end);
  void pass(std::size_t begin, std::size_t end);

  const KnownSecrets& secrets_;
  std::string held_{};
  std::size_t covered_ = 0;  // Bytes at the beginning of held_ that belong to a masked secret.
  std::string out_{};
};

}  // namespace treaty
