#include "treaty/base/secrets.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "treaty/base/masking/known_secrets.h"
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

constexpr std::array<std::string_view, 2> kCloudKeys = {"AKIA", "ASIA"};
constexpr std::array<std::string_view, 4> kAnnouncements = {"bearer ", "basic ",
                                                            "api-key: ", "api_key: "};

std::size_t cloud_key(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at);
  if (std::ranges::none_of(kCloudKeys, [&](auto key) { return rest.starts_with(key); })) return 0;
  const std::size_t size =
      run_length(text, at + 4, [](char c) { return is_upper(c) || is_digit(c); });
  return size >= 16 ? 4 + size : 0;
}

// What stands behind the word that announces it.
std::size_t announced_token(std::string_view text, std::size_t at) {
  for (const std::string_view word : kAnnouncements) {
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

constexpr std::string_view kBlockBegin = "-----BEGIN ";
constexpr std::string_view kBlockEnd = "-----END ";

std::optional<SecretSpan> find_private_key(std::string_view text, std::size_t from) {
  const std::size_t begin = text.find(kBlockBegin, from);
  if (begin == std::string_view::npos) return std::nullopt;
  if (!text.substr(begin).contains("PRIVATE KEY-----")) return std::nullopt;
  const std::size_t end = text.find(kBlockEnd, begin);
  return SecretSpan{begin, end == std::string_view::npos ? text.size() - begin : end - begin};
}

// How much of `text` from its beginning on is the inside of a key: lines of base64, the last of
// which may be short, also where line ends are written as \\n.
std::size_t key_material(std::string_view text) {
  constexpr std::size_t kShortestLine = 24;
  constexpr std::size_t kGroup = 4;
  std::size_t end = 0;
  bool begins_line = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = run_length(
        text, at, [](char c) { return is_alphanumeric(c) || c == '+' || c == '/' || c == '='; },
        text.size());
    if (size >= kShortestLine) {
      at = end = at + size;
      begins_line = false;
    } else if (end > 0 && begins_line && size > 0) {
      return size % kGroup == 0 ? at + size : end;
    } else if (text.substr(at).starts_with("\\n")) {
      begins_line = true;
      at += 2;
    } else if (std::string_view(" \t\r\n").contains(text[at])) {
      begins_line = begins_line || text[at] == '\r' || text[at] == '\n';
      ++at;
    } else {
      break;
    }
  }
  return end;
}

bool has_key_line(std::string_view text) {
  while (!text.empty()) {
    const Line line = line_at(text, 0);
    if (key_material(trimmed(line.text)) > 0) return true;
    text.remove_prefix(std::min(line.next, text.size()));
  }
  return false;
}

// A block that holds a private key. One that is only spoken of is none, and what follows a block
// that was cut off is not part of it.
std::optional<SecretSpan> find_key_block(std::string_view text, std::size_t from) {
  constexpr std::string_view kPrivate = "PRIVATE KEY-----";
  constexpr std::size_t kLongestKind = 32;  // "ENCRYPTED ", "OPENSSH "…
  for (std::size_t begin = text.find(kBlockBegin, from); begin != std::string_view::npos;
       begin = text.find(kBlockBegin, begin + 1)) {
    const std::size_t head = begin + kBlockBegin.size();
    const std::size_t kind = text.substr(head, kLongestKind + kPrivate.size()).find(kPrivate);
    if (kind == std::string_view::npos) continue;
    const std::size_t body = head + kind + kPrivate.size();
    const std::size_t next = std::min(text.find(kBlockBegin, body), text.size());
    const std::size_t end = text.substr(0, next).find(kBlockEnd, body);
    const std::string_view inside = text.substr(body, std::min(end, next) - body);
    if (end != std::string_view::npos && has_key_line(inside))
      return SecretSpan{begin, end - begin};
    if (const std::size_t size = key_material(inside); size > 0) {
      return SecretSpan{begin, body + size - begin};
    }
  }
  return std::nullopt;
}

// A token begins like one of the shapes: a table of first two characters passes over most of a
// text, and tells which kinds of shape to look for at the rest.
class Beginnings {
 public:
  enum Kind : std::uint8_t { kProvider = 1, kCloud = 2, kAnnounced = 4 };

  constexpr Beginnings() {
    for (const KeyShape& shape : kKeyShapes) add(shape.prefix[0], shape.prefix[1], kProvider);
    for (const std::string_view key : kCloudKeys) add(key[0], key[1], kCloud);
    for (const std::string_view word : kAnnouncements) {
      for (const char first : {word[0], to_upper(word[0])}) {
        for (const char second : {word[1], to_upper(word[1])}) add(first, second, kAnnounced);
      }
    }
  }

  constexpr std::uint8_t kinds(char first, char second) const {
    return kinds_[index(first, second)];
  }

 private:
  static constexpr char to_upper(char c) { return is_lower(c) ? static_cast<char>(c - 32) : c; }
  static constexpr std::size_t index(char first, char second) {
    return (static_cast<std::size_t>(first) & 127U) << 7U |
           (static_cast<std::size_t>(second) & 127U);
  }
  constexpr void add(char first, char second, Kind kind) { kinds_[index(first, second)] |= kind; }

  std::array<std::uint8_t, std::size_t{1} << 14U> kinds_{};
};
constexpr Beginnings kBeginnings;

// The length of the token at `at`, of one of `kinds`; 0 when there is none.
std::size_t token_at(std::string_view text, std::size_t at, unsigned kinds) {
  std::size_t size = 0;
  if ((kinds & Beginnings::kProvider) != 0) size = provider_key(text, at);
  if (size == 0 && (kinds & Beginnings::kCloud) != 0) size = cloud_key(text, at);
  if (size == 0 && (kinds & Beginnings::kAnnounced) != 0) size = announced_token(text, at);
  return size;
}

std::optional<SecretSpan> find_token(std::string_view text, std::size_t from) {
  for (std::size_t at = from; at + 1 < text.size(); ++at) {
    const unsigned kinds = kBeginnings.kinds(text[at], text[at + 1]);
    if (kinds == 0 || !begins_word(text, at)) continue;
    if (const std::size_t size = token_at(text, at, kinds); size > 0) return SecretSpan{at, size};
  }
  return std::nullopt;
}

// What is masked in a text, one after the other. Each shape is looked for again only when the last
// one found lies behind: a text of nothing but keys is read once, not once for each of them.
class MaskedSpans {
 public:
  explicit MaskedSpans(std::string_view text) : text_(text) {
    for (std::size_t i = 0; i < kShapes.size(); ++i) spans_[i] = kShapes[i](text_, 0);
  }

  // The first at or after `from`, which never goes back.
  std::optional<SecretSpan> next(std::size_t from) {
    std::optional<SecretSpan> first;
    for (std::size_t i = 0; i < kShapes.size(); ++i) {
      if (spans_[i] && spans_[i]->begin < from) spans_[i] = kShapes[i](text_, from);
      if (spans_[i] && (!first || spans_[i]->begin < first->begin)) first = spans_[i];
    }
    return first;
  }

 private:
  using Find = std::optional<SecretSpan> (*)(std::string_view, std::size_t);
  static constexpr std::array<Find, 3> kShapes = {find_token, find_json_web_token, find_key_block};

  std::string_view text_;
  std::array<std::optional<SecretSpan>, kShapes.size()> spans_{};
};

constexpr std::string_view kMask = "***";
constexpr std::size_t kShown = 3;  // Characters of a secret that stay.

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
  // First, so that no shape masks a part of it and leaves the rest.
  const auto without_known =
      known.empty() ? std::nullopt : KnownSecrets(std::array{std::string(known)}).masked(text);
  if (without_known) text = *without_known;
  std::string out;
  std::size_t copied = 0;
  MaskedSpans spans(text);
  for (auto secret = spans.next(0); secret; secret = spans.next(copied)) {
    out.append(text.substr(copied, secret->begin - copied + std::min(kShown, secret->size)));
    out.append(kMask);
    copied = secret->begin + secret->size;
  }
  out.append(text.substr(copied));
  return out;
}

}  // namespace treaty
