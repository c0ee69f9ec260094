#include "treaty/machines/hooks/arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/text.h"

namespace treaty::machines {
namespace {

constexpr double kLongestTimeout = 86'400;  // Seconds. Longer ones are as good as for ever.

bool is_word(const boost::json::value& value) {
  return value.is_string() && !value.get_string().subview().contains('\0');
}

}  // namespace

void Arguments::refuse(std::string_view name, std::string_view what) {
  if (fault_.empty()) fault_ = fmt::format("the hook {}: args.{} {}", hook_, name, what);
}

void Arguments::allow(std::span<const std::string_view> names) {
  for (const auto& member : values_) {
    const std::string_view name = member.key();
    if (std::ranges::find(names, name) != names.end()) continue;
    const std::string_view meant = closest(names, name);
    refuse(name, meant.empty() ? fmt::format("is not known; there are {}", fmt::join(names, ", "))
                               : fmt::format("is not known; did you mean {}?", meant));
  }
}

std::optional<std::string> Arguments::text(std::string_view name) {
  const boost::json::value* value = values_.if_contains(name);
  if (value == nullptr || value->is_null()) return std::nullopt;
  if (!value->is_string()) {
    refuse(name, "is not a text");
    return std::nullopt;
  }
  return std::string(value->get_string());
}

std::string Arguments::required_text(std::string_view name) {
  std::string found = text(name).value_or("");
  if (is_blank(found)) refuse(name, "is missing");
  return found;
}

bool Arguments::boolean(std::string_view name, bool otherwise) {
  const boost::json::value* value = values_.if_contains(name);
  if (value == nullptr) return otherwise;
  if (!value->is_bool()) refuse(name, "is neither true nor false");
  return value->is_bool() ? value->get_bool() : otherwise;
}

std::chrono::milliseconds Arguments::seconds(std::string_view name,
                                             std::chrono::milliseconds otherwise) {
  const boost::json::value* value = values_.if_contains(name);
  if (value == nullptr) return otherwise;
  const double number = value->is_number() ? value->to_number<double>() : 0;
  if (!(number > 0)) {
    refuse(name, "is not a number of seconds greater than 0");
    return otherwise;
  }
  const std::chrono::duration<double> span(std::min(number, kLongestTimeout));
  return std::chrono::ceil<std::chrono::milliseconds>(span);
}

std::vector<std::string> Arguments::required_words(std::string_view name) {
  const boost::json::value* value = values_.if_contains(name);
  std::vector<std::string> words;
  if (value == nullptr || !value->is_array() || value->get_array().empty() ||
      !std::ranges::all_of(value->get_array(), is_word)) {
    refuse(name, "is not a list of words, such as [python3, ./hook.py]");
    return words;
  }
  for (const auto& word : value->get_array()) words.emplace_back(word.get_string());
  if (words.front().empty()) refuse(name, "begins with an empty word");
  return words;
}

}  // namespace treaty::machines
