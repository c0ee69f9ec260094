// Keys and tokens that are known by their shape: to refuse texts that have one, and to mask them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace treaty {

struct SecretSpan {
  std::size_t begin;
  std::size_t size;
};

// The first key, token or private key of `text` at or after `from`.
std::optional<SecretSpan> find_secret(std::string_view text, std::size_t from = 0);

// True when a part of it is longer than a word, or long and has a digit.
bool looks_random(std::string_view text);

// The text with `***` in the place of every secret, and of `known` wherever it stands. The first
// characters of a secret's shape stay, so that people see which kind it was. A private key is
// masked where its material stands; text that only speaks of one stays as it is.
std::string mask_secrets(std::string_view text, std::string_view known = {});

}  // namespace treaty
