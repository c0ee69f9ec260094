#include "treaty/base/headers.h"

#include "treaty/base/text.h"

namespace treaty {

Headers::Headers(std::initializer_list<std::pair<std::string_view, std::string_view>> fields) {
  fields_.reserve(fields.size());
  for (const auto& [name, value] : fields) add(name, value);
}

HeaderField* Headers::slot(std::string_view name) {
  for (HeaderField& field : fields_) {
    if (equal_folded(field.name, name)) return &field;
  }
  return nullptr;
}

void Headers::add(std::string_view name, std::string_view value) {
  if (HeaderField* field = slot(name)) {
    field->value.append(", ").append(trimmed(value));
  } else {
    fields_.push_back({folded(name), std::string(trimmed(value))});
  }
}

void Headers::set(std::string_view name, std::string_view value) {
  if (HeaderField* field = slot(name)) {
    field->value = trimmed(value);
  } else {
    fields_.push_back({folded(name), std::string(trimmed(value))});
  }
}

const std::string* Headers::find(std::string_view name) const {
  for (const HeaderField& field : fields_) {
    if (field.name == name) return &field.value;
  }
  return nullptr;
}

std::string_view Headers::get(std::string_view name) const {
  const std::string* value = find(name);
  return value == nullptr ? std::string_view() : std::string_view(*value);
}

}  // namespace treaty
