#include "treaty/assistant/composer_input.h"

#include <charconv>

#include "treaty/base/text.h"

namespace treaty::assistant {

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

std::optional<double> Part::number(bool booleans) const {
  if (!value_) return std::nullopt;
  if (value_->is_number()) return value_->number();
  if (value_->is_boolean() && booleans) return value_->boolean() ? 1.0 : 0.0;
  if (!value_->is_string()) return std::nullopt;
  std::string_view digits = trimmed(value_->text());
  if (digits.starts_with('+')) digits.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

}  // namespace treaty::assistant
