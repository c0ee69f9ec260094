#include "treaty/api/target.h"

#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/text.h"
#include "treaty/base/try.h"

namespace treaty::api {
namespace {

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  const char lower = to_lower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

enum class Part { path, query };

// Forms write a space as `+`, and that only in queries.
std::expected<std::string, Error> decoded(std::string_view text, Part part) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && part == Part::query) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
      if (low < 0) {
        return std::unexpected(Error{ErrorCode::not_a_document,
                                     "the address has a % that two hexadecimal digits do not "
                                     "follow; write % itself as %25"});
      }
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  if (!is_utf8(out)) {
    return std::unexpected(
        Error{ErrorCode::not_a_document, "the address is not UTF-8 once it is percent-decoded"});
  }
  return out;
}

// The pieces between separators, one at a time.
class Pieces {
 public:
  Pieces(std::string_view text, char separator) : rest_(text), separator_(separator) {}

  std::optional<std::string_view> next() {
    if (ended_) return std::nullopt;
    const std::size_t end = rest_.find(separator_);
    const std::string_view piece = rest_.substr(0, end);
    ended_ = end == std::string_view::npos;
    if (!ended_) rest_.remove_prefix(end + 1);
    return piece;
  }

 private:
  std::string_view rest_;
  char separator_;
  bool ended_ = false;
};

bool is_unreserved(char c) {
  return is_alphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

}  // namespace

std::expected<Target, Error> Target::parse(std::string_view text) {
  const std::size_t question = text.find('?');
  std::string_view path = text.substr(0, question);
  if (path.starts_with('/')) path.remove_prefix(1);

  Target target;
  for (Pieces pieces(path, '/'); const auto piece = pieces.next();) {
    TREATY_TRY(auto segment, decoded(*piece, Part::path));
    target.segments_.push_back(std::move(segment));
  }
  if (question == std::string_view::npos) return target;
  for (Pieces pieces(text.substr(question + 1), '&'); const auto piece = pieces.next();) {
    if (piece->empty()) continue;
    const std::size_t equals = piece->find('=');
    TREATY_TRY(auto name, decoded(piece->substr(0, equals), Part::query));
    TREATY_TRY(
        auto value,
        decoded(equals == std::string_view::npos ? "" : piece->substr(equals + 1), Part::query));
    target.parameters_.emplace_back(std::move(name), std::move(value));
  }
  return target;
}

std::optional<std::string_view> Target::parameter(std::string_view name) const {
  const auto found =
      std::ranges::find(parameters_, name, &std::pair<std::string, std::string>::first);
  if (found == parameters_.end()) return std::nullopt;
  return found->second;
}

std::string path_segment(std::string_view id) {
  std::string out;
  for (const char c : id) {
    if (is_unreserved(c)) {
      out += c;
    } else {
      fmt::format_to(std::back_inserter(out), "%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace treaty::api
