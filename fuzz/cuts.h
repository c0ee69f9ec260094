// What the targets that read HTTP share: limits and cuts chosen by the first bytes of the input,
// and bytes that come in pieces, as a network brings them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "require.h"

namespace treaty::fuzz {

// A seed of 0 does not cut.
class Pieces {
 public:
  Pieces(std::string_view bytes, unsigned seed) : bytes_(bytes), seed_(seed) {}

  bool ended() const { return at_ == bytes_.size(); }

  // The next bytes, in memory of their own: a reader that looks beyond them is seen.
  std::unique_ptr<std::string> next() {
    std::size_t size = bytes_.size();
    if (seed_ != 0) {
      seed_ = seed_ * 1664525U + 1013904223U;
      size = std::size_t{1} + (seed_ >> 24U) % 17U;
    }
    auto piece = std::make_unique<std::string>(bytes_.substr(at_, size));
    at_ += piece->size();
    return piece;
  }

 private:
  std::string_view bytes_;
  unsigned seed_;
  std::size_t at_ = 0;
};

struct Choice {
  std::string_view bytes;
  std::size_t max_header_bytes;
  std::size_t max_body_bytes;
  unsigned last;  // The last byte that chooses.
};

// `read(choice, seed)` tells the same, however the bytes are cut.
int require_same_however_cut(const std::uint8_t* data, std::size_t size, const auto& read) {
  const std::string_view input = as_text(data, size);
  if (input.size() < 3) return 0;
  const auto chosen = [&](std::size_t i) { return static_cast<unsigned char>(input[i]); };
  const Choice choice{.bytes = input.substr(3),
                      .max_header_bytes = 64 + 8 * std::size_t{chosen(0)},
                      .max_body_bytes = std::size_t{chosen(1)} * chosen(1),
                      .last = chosen(2)};
  require(read(choice, 0U) == read(choice, 2U * choice.last + 1U));
  return 0;
}

}  // namespace treaty::fuzz
