#include "treaty/config/expansion.h"

#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/text.h"

namespace treaty::config {
namespace {

std::unexpected<ExpansionFault> fault(std::string message, std::string hint) {
  return std::unexpected(ExpansionFault{std::move(message), std::move(hint)});
}

bool is_variable(std::string_view name) {
  return !name.empty() && !is_digit(name[0]) && std::ranges::all_of(name, is_word_character);
}

// What stands between the braces.
std::expected<std::string, ExpansionFault> value_of(std::string_view inside,
                                                    const Environment& environment) {
  const std::size_t mark = std::min(inside.find(":-"), inside.size());
  const std::string_view name = inside.substr(0, mark);
  if (!is_variable(name)) {
    return fault("${…} does not hold the name of a variable",
                 "write ${NAME} or ${NAME:-default}, and $$ for a dollar");
  }
  auto value = environment(name);
  const bool has_default = mark < inside.size();
  if (has_default && (!value || value->empty())) return std::string(inside.substr(mark + 2));
  if (value) return *std::move(value);
  return fault(fmt::format("the environment variable {} is not set", name.substr(0, 80)),
               fmt::format("set it, or write ${{{}:-default}}", name.substr(0, 80)));
}

}  // namespace

std::expected<std::string, ExpansionFault> expand(std::string_view text,
                                                  const Environment& environment) {
  std::string out;
  while (true) {
    const std::size_t dollar = std::min(text.find('$'), text.size());
    out += text.substr(0, dollar);
    text.remove_prefix(dollar);
    if (text.empty()) return out;
    if (!text.starts_with("${")) {
      out += '$';
      text.remove_prefix(text.starts_with("$$") ? 2 : 1);
      continue;
    }
    const std::size_t close = text.find('}');
    if (close == std::string_view::npos) {
      return fault("${ is never closed", "write ${NAME}, and $$ for a dollar");
    }
    auto value = value_of(text.substr(2, close - 2), environment);
    if (!value) return value;
    if (!is_utf8(*value)) {
      return fault("the environment variable does not hold UTF-8", "set it to a text");
    }
    out += *value;
    text.remove_prefix(close + 1);
  }
}

}  // namespace treaty::config
