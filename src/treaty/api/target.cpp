#include "treaty/api/target.h"

#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/percent.h"
#include "treaty/base/pieces.h"
#include "treaty/base/text.h"
#include "treaty/base/try.h"

namespace treaty::api {
namespace {

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
        return fail(ErrorCode::not_a_document,
                    "the address has a % that two hexadecimal digits do not "
                    "follow; write % itself as %25");
      }
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  if (!is_utf8(out)) {
    return fail(ErrorCode::not_a_document, "the address is not UTF-8 once it is percent-decoded");
  }
  return out;
}

}  // namespace

std::expected<Target, Error> Target::parse(std::string_view text) {
  std::string_view path = take_until(text, '?');
  std::string_view& query = text;
  if (path.starts_with('/')) path.remove_prefix(1);

  Target target;
  for (bool is_last = false; !is_last;) {
    is_last = !path.contains('/');
    TREATY_TRY(auto segment, decoded(take_until(path, '/'), Part::path));
    target.segments_.push_back(std::move(segment));
  }
  while (!query.empty()) {
    std::string_view value = take_until(query, '&');
    if (value.empty()) continue;
    const std::string_view name = take_until(value, '=');
    TREATY_TRY(auto decoded_name, decoded(name, Part::query));
    TREATY_TRY(auto decoded_value, decoded(value, Part::query));
    target.parameters_.emplace_back(std::move(decoded_name), std::move(decoded_value));
  }
  return target;
}

std::optional<std::string_view> Target::parameter(std::string_view name) const {
  const auto found =
      std::ranges::find(parameters_, name, &std::pair<std::string, std::string>::first);
  if (found == parameters_.end()) return std::nullopt;
  return found->second;
}

std::string path_segment(std::string_view id) { return percent_encoded(id); }

}  // namespace treaty::api
