#include "treaty/base/secrets.h"

#include <algorithm>
#include <array>

#include "treaty/base/text.h"

namespace treaty {
namespace {

bool is_key_character(char c) { return is_word_character(c) || c == '-'; }
bool is_bearer_character(char c) {
  return is_key_character(c) || std::string_view(".~+/=").contains(c);
}

struct KeyShape {
  std::string_view prefix;
  std::size_t least;  // Characters after the prefix.
  bool unmistakable;  // No word of prose begins like this.
};
constexpr std::array<KeyShape, 26> kKeyShapes = {{
    {"sk-ant-", 8, true},  {"sk-proj-", 8, true},     {"sk-or-", 8, true},   {"sk-", 10, false},
    {"sk_live_", 8, true}, {"sk_test_", 8, true},     {"rk_live_", 8, true}, {"gsk_", 16, true},
    {"AIza", 20, true},    {"xai-", 10, false},       {"csk-", 16, false},   {"hf_", 16, false},
    {"pplx-", 16, false},  {"ghp_", 16, true},        {"gho_", 16, true},    {"ghu_", 16, true},
    {"ghs_", 16, true},    {"ghr_", 16, true},        {"glpat-", 16, true},  {"xoxb-", 10, true},
    {"xoxp-", 10, true},   {"github_pat_", 16, true}, {"npm_", 20, false},   {"ya29.", 16, true},
    {"tgp_v1_", 16, true}, {"nvapi-", 16, true},
}};

// Each answers the length of what begins at `at`, or 0.
std::size_t provider_key(std::string_view text, std::size_t at) {
  for (const KeyShape& shape : kKeyShapes) {
    if (!text.substr(at).starts_with(shape.prefix)) continue;
    const std::size_t begin = at + shape.prefix.size();
    const std::size_t size = run_length(text, begin, is_key_character);
    if (size >= shape.least && (shape.unmistakable || looks_random(text.substr(begin, size)))) {
      return shape.prefix.size() + size;
    }
  }
  return 0;
}

std::size_t cloud_key(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at);
  if (!rest.starts_with("AKIA") && !rest.starts_with("ASIA")) return 0;
  const std::size_t size =
      run_length(text, at + 4, [](char c) { return is_upper(c) || is_digit(c); });
  return size >= 16 ? 4 + size : 0;
}

// What stands behind the word that announces it.
std::size_t announced_token(std::string_view text, std::size_t at) {
  for (const std::string_view word : {"bearer ", "basic ", "api-key: ", "api_key: "}) {
    if (!starts_with_folded(text.substr(at), word)) continue;
    const std::size_t begin = at + word.size();
    const std::size_t size = run_length(text, begin, is_bearer_character);
    return size >= 16 && looks_random(text.substr(begin, size)) ? word.size() + size : 0;
  }
  return 0;
}

// Parts between dots, the first two of which are the base64 of JSON objects. Looked for from the
// dot between them, so that a header may have any length.
std::optional<SecretSpan> find_json_web_token(std::string_view text, std::size_t from) {
  for (std::size_t dot = text.find(".eyJ", from); dot != std::string_view::npos;
       dot = text.find(".eyJ", dot + 1)) {
    if (run_length(text, dot + 1, is_key_character) < 8) continue;
    std::size_t begin = dot;
    while (begin > from && is_key_character(text[begin - 1])) --begin;
    for (std::size_t at = text.find("eyJ", begin); at + 10 <= dot; at = text.find("eyJ", at + 1)) {
      if (!begins_word(text, at)) continue;
      const std::size_t end =
          dot + run_length(
                    text, dot, [](char c) { return is_key_character(c) || c == '.'; }, text.size());
      return SecretSpan{at, end - at};
    }
  }
  return std::nullopt;
}

std::optional<SecretSpan> find_private_key(std::string_view text, std::size_t from) {
  const std::size_t begin = text.find("-----BEGIN ", from);
  if (begin == std::string_view::npos) return std::nullopt;
  if (!text.substr(begin).contains("PRIVATE KEY-----")) return std::nullopt;
  const std::size_t end = text.find("-----END ", begin);
  return SecretSpan{begin, end == std::string_view::npos ? text.size() - begin : end - begin};
}

std::optional<SecretSpan> find_token(std::string_view text, std::size_t from) {
  for (std::size_t at = from; at < text.size(); ++at) {
    if (!begins_word(text, at)) continue;
    for (const auto shape : {provider_key, cloud_key, announced_token}) {
      if (const std::size_t size = shape(text, at); size > 0) return SecretSpan{at, size};
    }
  }
  return std::nullopt;
}

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

constexpr std::string_view kMask = "***";
constexpr std::size_t kShown = 3;          // Characters of a secret that stay.
constexpr std::size_t kShortestKnown = 6;  // Shorter keys would mask words.

}  // namespace

// Words of prose joined by hyphens are short or have no digits; a key has a long part with one, or
// a part longer than any word.
bool looks_random(std::string_view text) {
  std::size_t size = 0;
  bool digit = false;
  for (const char c : text) {
    size = is_alphanumeric(c) ? size + 1 : 0;
    digit = size > 0 && (is_digit(c) || (digit && size > 1));
    if (size >= 24 || (size >= 8 && digit)) return true;
  }
  return false;
}

std::optional<SecretSpan> find_secret(std::string_view text, std::size_t from) {
  std::optional<SecretSpan> first = find_token(text, from);
  for (const auto& other : {find_json_web_token(text, from), find_private_key(text, from)}) {
    if (other && (!first || other->begin < first->begin)) first = other;
  }
  return first;
}

std::string mask_secrets(std::string_view text, std::string_view known) {
  std::string out;
  std::size_t copied = 0;
  for (auto secret = find_secret(text); secret; secret = find_secret(text, copied)) {
    out.append(text.substr(copied, secret->begin - copied + std::min(kShown, secret->size)));
    out.append(kMask);
    copied = secret->begin + secret->size;
  }
  out.append(text.substr(copied));
  if (known.size() >= kShortestKnown) replace_all(out, known, kMask);
  return out;
}

}  // namespace treaty
