#include "treaty/assistant/composer_input.h"

#include <cstdlib>

#include "treaty/base/json_write.h"
#include "treaty/base/text.h"

namespace treaty::assistant {
namespace {

// Digits with single underscores between them, and all else that a JSON number may have, are what
// float() takes; besides, it knows infinity and nan by name.
std::optional<double> read_float(std::string_view text) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool between =
        i > 0 && i + 1 < text.size() && is_digit(text[i - 1]) && is_digit(text[i + 1]);
    if (text[i] == '_' && between) continue;
    digits.push_back(to_lower(text[i]));
  }
  std::string_view number = digits;
  if (number.starts_with('+') || number.starts_with('-')) number.remove_prefix(1);
  const bool named = number == "inf" || number == "infinity" || number == "nan";
  const bool plain = number.find_first_not_of("0123456789.e+-") == std::string_view::npos &&
                     !number.empty() && (is_digit(number[0]) || number[0] == '.');
  if (!named && !plain) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(digits.c_str(), &end);
  if (end != digits.c_str() + digits.size()) return std::nullopt;
  return value;
}

}  // namespace

Part Part::operator[](std::string_view name) const {
  if (!value_ || !value_->is_object()) return Part();
  return Part(value_->members().find(name));
}

bool Part::truthy() const {
  if (!value_) return false;
  switch (value_->type()) {
    case json::Type::null: return false;
    case json::Type::boolean: return value_->boolean();
    case json::Type::integer:
    case json::Type::decimal: return value_->number() != 0;
    case json::Type::string: return !value_->text().empty();
    case json::Type::array: return !value_->elements().empty();
    case json::Type::object: return !value_->members().empty();
  }
  return false;
}

std::optional<double> Part::number() const {
  if (!value_) return std::nullopt;
  if (value_->is_number()) return value_->number();
  if (value_->is_boolean()) return value_->boolean() ? 1.0 : 0.0;
  if (!value_->is_string()) return std::nullopt;
  return read_float(trimmed(value_->text()));
}

std::optional<std::string> Part::printed() const {
  if (!value_) return std::nullopt;
  switch (value_->type()) {
    case json::Type::null: return "None";
    case json::Type::boolean: return value_->boolean() ? "True" : "False";
    case json::Type::integer: return std::string(value_->source());
    case json::Type::decimal: return json::decimal_text(value_->number());
    case json::Type::string: return std::string(value_->text());
    case json::Type::array:
    case json::Type::object: break;
  }
  return std::nullopt;
}

}  // namespace treaty::assistant
