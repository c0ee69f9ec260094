#include "treaty/base/text.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

namespace treaty {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

std::size_t columns_of_point(char32_t c) {
  if ((c >= 0x0300 && c <= 0x036F) || (c >= 0x200B && c <= 0x200D) ||
      (c >= 0xFE00 && c <= 0xFE0F)) {
    return 0;
  }
  const bool is_wide = (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) ||
                       (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0xF900 && c <= 0xFAFF) ||
                       (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
                       (c >= 0xFFE0 && c <= 0xFFE6) || (c >= 0x1F300 && c <= 0x1FAFF) ||
                       (c >= 0x20000 && c <= 0x3FFFD);
  return is_wide ? 2 : 1;
}

bool is_white_space(char32_t c) {
  if (c <= 0x20) return c == 0x20 || (c >= 0x09 && c <= 0x0D);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

// RFC 9110's tchar.
bool is_token_character(char c) {
  return is_alphanumeric(c) || std::string_view("!#$%&'*+-.^_`|~").contains(c);
}

// How many letters have to be changed, added or taken away; their case does not count.
std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t k = 0; k < right.size(); ++k) {
      const std::size_t changed = diagonal + (to_lower(left[i]) == to_lower(right[k]) ? 0 : 1);
      diagonal = row[k + 1];
      row[k + 1] = std::min({changed, row[k] + 1, row[k + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

CodePoint read_code_point(std::string_view bytes) {
  if (bytes.empty()) return {};
  const auto first = static_cast<unsigned char>(bytes[0]);
  if (first < 0x80) return {first, 1};

  std::size_t length = 0;
  char32_t value = 0;
  char32_t smallest = 0;  // Anything below it is an overlong form.
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2, value = first & 0x1FU, smallest = 0x80;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3, value = first & 0x0FU, smallest = 0x800;
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4, value = first & 0x07U, smallest = 0x10000;
  } else {
    return {};
  }
  if (bytes.size() < length) return {};
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(bytes[i])) return {};
    value = (value << 6U) | (static_cast<unsigned char>(bytes[i]) & 0x3FU);
  }
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < smallest || value > 0x10FFFF || surrogate) return {};
  return {value, length};
}

void append_utf8(std::string& out, char32_t c) {
  if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) c = kReplacement;
  const auto tail = [&](unsigned shift) {
    out.push_back(static_cast<char>(0x80U | ((c >> shift) & 0x3FU)));
  };
  if (c < 0x80) {
    out.push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    out.push_back(static_cast<char>(0xC0U | (c >> 6U)));
    tail(0);
  } else if (c < 0x10000) {
    out.push_back(static_cast<char>(0xE0U | (c >> 12U)));
    tail(6), tail(0);
  } else {
    out.push_back(static_cast<char>(0xF0U | (c >> 18U)));
    tail(12), tail(6), tail(0);
  }
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    // Eight bytes of ASCII at a time: most of what is asked is nothing else.
    std::uint64_t eight = 0;
    while (bytes.size() >= sizeof eight) {
      std::memcpy(&eight, bytes.data(), sizeof eight);
      if ((eight & 0x8080808080808080U) != 0) break;
      bytes.remove_prefix(sizeof eight);
    }
    if (bytes.empty()) break;
    const CodePoint next = read_code_point(bytes);
    if (next.length == 0) return false;
    bytes.remove_prefix(next.length);
  }
  return true;
}

std::string repaired_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const CodePoint next = read_code_point(bytes);
    if (next.length == 0) append_utf8(out, kReplacement);
    out.append(bytes.substr(0, next.length));
    bytes.remove_prefix(std::max<std::size_t>(next.length, 1));
  }
  return out;
}

std::string_view utf8_prefix(std::string_view utf8, std::size_t most) {
  if (utf8.size() <= most) return utf8;
  while (most > 0 && is_continuation(utf8[most])) --most;
  return utf8.substr(0, most);
}

std::size_t columns_of(std::string_view utf8) {
  std::size_t columns = 0;
  while (!utf8.empty()) {
    const CodePoint next = read_code_point(utf8);
    columns += columns_of_point(next.value);
    utf8.remove_prefix(std::max<std::size_t>(next.length, 1));
  }
  return columns;
}

std::string_view fitting(std::string_view utf8, std::size_t columns) {
  std::size_t size = 0;
  while (size < utf8.size()) {
    const CodePoint next = read_code_point(utf8.substr(size));
    const std::size_t taken = columns_of_point(next.value);
    if (taken > columns) break;
    columns -= taken;
    size += std::max<std::size_t>(next.length, 1);
  }
  return utf8.substr(0, size);
}

bool is_blank(std::string_view utf8) {
  while (!utf8.empty()) {
    const CodePoint next = read_code_point(utf8);
    if (next.length == 0 || !is_white_space(next.value)) return false;
    utf8.remove_prefix(next.length);
  }
  return true;
}

bool has_control_character(std::string_view utf8) {
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto byte = static_cast<unsigned char>(utf8[i]);
    if (byte < 0x20 || byte == 0x7F) return true;
    // U+0080 to U+009F are the bytes C2 80 to C2 9F.
    if (byte == 0xC2 && i + 1 < utf8.size() && static_cast<unsigned char>(utf8[i + 1]) < 0xA0) {
      return true;
    }
  }
  return false;
}

bool equal_folded(std::string_view left, std::string_view right) {
  return left.size() == right.size() &&
         std::equal(left.begin(), left.end(), right.begin(),
                    [](char a, char b) { return to_lower(a) == to_lower(b); });
}

bool starts_with_folded(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && equal_folded(text.substr(0, prefix.size()), prefix);
}

std::string folded(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), to_lower);
  return out;
}

std::size_t find_folded(std::string_view text, std::string_view words) {
  const auto found = std::ranges::search(text, words, {}, to_lower);
  return found.empty() && !words.empty() ? std::string_view::npos
                                         : static_cast<std::size_t>(found.begin() - text.begin());
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\r\f\v";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

Line line_at(std::string_view text, std::size_t begin) {
  // A carriage return ends a line by itself, or together with the line feed after it. Searched in
  // pieces: a text of carriage returns alone is not read to its end for every one of them.
  constexpr std::size_t kPiece = 256;
  std::size_t end = text.size();
  for (std::size_t at = begin; at < text.size(); at += kPiece) {
    const std::string_view piece = text.substr(at, kPiece);
    const std::size_t feed = std::min(piece.find('\n'), piece.size());
    const std::size_t found = std::min(piece.substr(0, feed).find('\r'), feed);
    if (found == piece.size()) continue;
    end = at + found;
    break;
  }
  const bool pair = text.substr(end).starts_with("\r\n");
  return {text.substr(begin, end - begin), end + (pair ? 2 : 1)};
}

std::string_view closest(std::span<const std::string_view> words, std::string_view word) {
  constexpr std::size_t kLongest = 64;  // Nobody means a word by more than that.
  if (word.size() > kLongest) return {};
  std::string_view best;
  std::size_t least = 2 + word.size() / 4;  // More changes than that make another word.
  for (const std::string_view candidate : words) {
    if (candidate.size() > kLongest) continue;
    const std::size_t changes = edit_distance(candidate, word);
    if (changes >= least || changes >= candidate.size()) continue;
    least = changes;
    best = candidate;
  }
  return best;
}

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    const char c = to_lower(text[i]);
    if (dash ? c != '-' : !(is_digit(c) || (c >= 'a' && c <= 'f'))) return false;
  }
  return true;
}

bool is_media_type(std::string_view text) {
  const std::string_view essence = trimmed(text.substr(0, text.find(';')));
  const std::size_t slash = essence.find('/');
  if (slash == std::string_view::npos || text.empty() || text.front() != essence.front()) {
    return false;
  }
  const std::string_view type = essence.substr(0, slash);
  const std::string_view subtype = essence.substr(slash + 1);
  return !type.empty() && !subtype.empty() && std::ranges::all_of(type, is_token_character) &&
         std::ranges::all_of(subtype, is_token_character);
}

}  // namespace treaty
