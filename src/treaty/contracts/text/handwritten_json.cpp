#include "treaty/contracts/text/handwritten_json.h"

#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/json.h"
#include "treaty/base/text.h"

namespace treaty::contracts {
namespace {

constexpr std::string_view kMark = "\xEF\xBB\xBF";  // Of the byte order; a repair of its own.
constexpr std::size_t kLeastBackticks = 3;

bool is_json_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// The text with its tokens as RFC 8259 has them.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) { out_.reserve(text.size()); }

  void rewrite() {
    for (at_ = 0; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') {
        copy_string();
      } else if (!is_needless_comma()) {
        copy();
      } else {
        ++commas_;
      }
    }
  }

  std::string take() { return std::move(out_); }
  std::size_t commas() const { return commas_; }
  std::size_t controls() const { return controls_; }

 private:
  void copy() {
    if (!is_json_space(text_[at_])) last_ = text_[at_];
    out_.push_back(text_[at_]);
  }

  // `,` after a value and before `}` or `]`.
  bool is_needless_comma() const {
    if (text_[at_] != ',' || last_ == '{' || last_ == '[' || last_ == ',' || last_ == ':') {
      return false;
    }
    const auto rest = text_.substr(at_ + 1);
    const auto next = std::ranges::find_if_not(rest, is_json_space);
    return next != rest.end() && (*next == '}' || *next == ']');
  }

  // From the opening quote to the closing one.
  void copy_string() {
    copy();
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\\' && at_ + 1 < text_.size()) {
        out_.push_back(c);
        out_.push_back(text_[++at_]);
      } else if (static_cast<unsigned char>(c) < 0x20 && c != '\0') {
        copy_escaped(c);
      } else {
        copy();
        if (c == '"') return;
      }
    }
  }

  void copy_escaped(char c) {
    ++controls_;
    switch (c) {
      case '\n': out_ += "\\n"; return;
      case '\r': out_ += "\\r"; return;
      case '\t': out_ += "\\t"; return;
      default: out_ += fmt::format("\\u{:04x}", static_cast<unsigned>(c)); return;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  char last_ = '\0';  // The last character that is no space.
  std::string out_{};
  std::size_t commas_ = 0;
  std::size_t controls_ = 0;
};

// How many characters of a fence the line begins with; 0 when it is no fence.
std::size_t fence_length(std::string_view line) {
  if (line.empty() || (line.front() != '`' && line.front() != '~')) return 0;
  const std::size_t length = std::min(line.find_first_not_of(line.front()), line.size());
  return length < kLeastBackticks ? 0 : length;
}

bool closes(std::string_view line, char fence, std::size_t length) {
  line = trimmed(line);
  return line.size() >= length && line.find_first_not_of(fence) == std::string_view::npos;
}

// The lines between an opening fence in the first line and a closing one in the last; empty when
// the text is not fenced. Raw line ends in a string may look like fences inside, so only these two
// lines count.
std::string_view inside_fence(std::string_view text) {
  text = trimmed(text);
  const std::size_t first_end = text.find('\n');
  const std::size_t last_begin = text.rfind('\n');
  if (first_end == std::string_view::npos || last_begin == first_end) return {};
  const std::string_view opening = text.substr(0, first_end);
  const std::size_t length = fence_length(opening);
  if (length == 0 || !closes(text.substr(last_begin + 1), opening.front(), length)) return {};
  return text.substr(first_end + 1, last_begin - first_end - 1);
}

bool is_object(const json::Document& document) {
  return document.root() && document.root()->is_object();
}

// A text in UTF-16 has a mark of two bytes, or a zero byte beside its first character.
enum class ByteOrder { none, little, big };
ByteOrder byte_order_of(std::string_view text) {
  const std::string_view first = text.substr(0, 2);
  if (first.size() < 2) return ByteOrder::none;
  if (first == "\xFF\xFE" || (first[1] == '\0' && first[0] != '\0')) return ByteOrder::little;
  if (first == "\xFE\xFF" || (first[0] == '\0' && first[1] != '\0')) return ByteOrder::big;
  return ByteOrder::none;
}

}  // namespace

bool has_open_fence(std::string_view text) {
  text = trimmed(text);
  const std::size_t length = fence_length(text);
  if (length == 0) return false;
  const std::size_t first_end = text.find('\n');
  if (first_end == std::string_view::npos) {
    return std::ranges::all_of(text.substr(length), is_word_character);
  }
  const std::string_view inside = text.substr(first_end + 1);
  if (!trimmed(inside).starts_with('{')) return false;
  for (std::size_t begin = 0; begin < inside.size();) {
    const std::size_t end = std::min(inside.find('\n', begin), inside.size());
    if (closes(inside.substr(begin, end - begin), text.front(), length)) return false;
    begin = end + 1;
  }
  return true;
}

std::optional<std::string> utf8_of_utf16(std::string_view text) {
  const ByteOrder order = byte_order_of(text);
  if (order == ByteOrder::none) return std::nullopt;
  const auto unit_at = [&](std::size_t at) -> char32_t {
    const auto first = static_cast<unsigned char>(text[at]);
    const auto second = static_cast<unsigned char>(text[at + 1]);
    return order == ByteOrder::big ? first * 256U + second : second * 256U + first;
  };
  constexpr char32_t kByteOrderMark = 0xFEFF;
  constexpr char32_t kHigh = 0xD800;
  constexpr char32_t kLow = 0xDC00;
  constexpr char32_t kPastLow = 0xE000;
  std::string out;
  for (std::size_t at = unit_at(0) == kByteOrderMark ? 2 : 0; at + 1 < text.size(); at += 2) {
    char32_t point = unit_at(at);
    if (point >= kHigh && point < kPastLow) {
      if (at + 3 >= text.size()) break;
      const char32_t low = unit_at(at += 2);
      if (point >= kLow || low < kLow || low >= kPastLow) return std::nullopt;
      point = 0x10000 + (point - kHigh) * 0x400 + (low - kLow);
    }
    append_utf8(out, point);
  }
  return out;
}

HandwrittenJson rewrite_as_json(std::string_view text) {
  if (const auto utf8 = utf8_of_utf16(text)) {
    HandwrittenJson json = rewrite_as_json(*utf8);
    const json::Document document(json.text, {.grammar_only = true});
    if (!is_object(document)) return {std::string(text)};
    json.repairs.insert(json.repairs.begin(), "JSON-01 (document): the document is UTF-16");
    return json;
  }
  const std::string_view mark = text.starts_with(kMark) ? kMark : std::string_view();
  const std::string_view inside = inside_fence(text.substr(mark.size()));
  const bool is_fenced = !inside.empty();
  Tokens tokens(is_fenced ? inside : text.substr(mark.size()));
  tokens.rewrite();
  std::string rewritten = tokens.take();
  const json::Document document(rewritten, {.grammar_only = true});
  if (!is_object(document)) return {std::string(text)};
  HandwrittenJson json{std::string(mark) + rewritten};
  if (is_fenced) {
    json.text += '\n';
    json.repairs.emplace_back("JSON-01 (document): the document is fenced");
  }
  if (tokens.commas() > 0) {
    json.repairs.emplace_back("JSON-01 (document): there is a comma before a closing bracket");
  }
  if (tokens.controls() > 0) {
    json.repairs.emplace_back(
        "JSON-04 (document): a string has raw control characters, such as line ends");
  }
  return json;
}

}  // namespace treaty::contracts
