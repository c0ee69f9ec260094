#include "treaty/machines/reading/place.h"

#include "treaty/base/json.h"

namespace treaty::machines {

std::optional<Place> Place::find(std::string_view key) const& {
  for (const auto& pair : value_->members) {
    if (pair.first.text != key) continue;
    if (pair.second.kind == yaml::Kind::null) return std::nullopt;
    return member(pair);
  }
  return std::nullopt;
}

Place Place::nearest(std::string_view key) const& {
  for (const auto& pair : value_->members) {
    if (pair.first.text == key) return member(pair);
  }
  return *this;
}

void Place::append_pointer(std::string& out) const {
  if (parent_ == nullptr) return;
  parent_->append_pointer(out);
  json::append_pointer_token(out, key_ == nullptr ? std::to_string(index_) : key_->text);
}

std::string Place::pointer() const {
  std::string out;
  append_pointer(out);
  return out;
}

}  // namespace treaty::machines
