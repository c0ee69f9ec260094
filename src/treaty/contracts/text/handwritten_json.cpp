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

// The lines between an opening fence in the first line and a closing one in the last; empty when
// the text is not fenced. Raw line ends in a string may look like fences inside, so only these two
// lines count.
std::string_view inside_fence(std::string_view text) {
  text = trimmed(text);
  const std::size_t first_end = text.find('\n');
  const std::size_t last_begin = text.rfind('\n');
  if (first_end == std::string_view::npos || last_begin == first_end) return {};
  const std::string_view opening = text.substr(0, first_end);
  const std::string_view closing = trimmed(text.substr(last_begin + 1));
  const char fence = opening.front();
  if (fence != '`' && fence != '~') return {};
  const std::size_t length = std::min(opening.find_first_not_of(fence), opening.size());
  const bool is_closed =
      closing.size() >= length && closing.find_first_not_of(fence) == std::string_view::npos;
  if (length < kLeastBackticks || !is_closed) return {};
  return text.substr(first_end + 1, last_begin - first_end - 1);
}

bool is_object(const json::Document& document) {
  return document.root() && document.root()->is_object();
}

}  // namespace

HandwrittenJson rewrite_as_json(std::string_view text) {
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
