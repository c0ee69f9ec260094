// The words of a text, for filters that judge each of them alone.
#pragma once

#include <cstddef>
#include <string_view>

#include "treaty/base/text.h"

namespace treaty::contracts {

// Calls `test` with every run of word characters, until it is true of one.
template <class Test>
bool any_word(std::string_view text, Test test) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t size = run_length(text, at, is_word_character, text.size());
    if (size > 0 && test(text.substr(at, size))) return true;
    at += size;
  }
  return false;
}

}  // namespace treaty::contracts
