#include "treaty/base/json.h"

#include <charconv>
#include <cstdlib>
#include <limits>

namespace treaty::json {
namespace {

// The index of the node after `node` and all that is inside it.
std::uint32_t index_after(const Node& node, std::uint32_t index) {
  const bool container = node.type == Type::array || node.type == Type::object;
  return container ? node.extra : index + 1;
}

}  // namespace

bool Value::boolean() const { return document_->source_[begin()] == 't'; }

std::optional<std::int64_t> Value::integer() const {
  if (type() != Type::integer) return std::nullopt;
  const std::string_view digits = source();
  std::int64_t value = 0;
  const auto [_, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

double Value::number() const {
  const std::string_view digits = source();
  double value = 0;
  const auto [_, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc()) return value;
  // Out of range: too large or too small, which only the slower conversion tells apart.
  return std::strtod(std::string(digits).c_str(), nullptr);
}

std::optional<Value> Document::root() const {
  if (!readable_) return std::nullopt;
  return Value(this, 0);
}

Elements::iterator& Elements::iterator::operator++() {
  value_.index_ = index_after(value_.node(), value_.index_);
  return *this;
}

Members::iterator& Members::iterator::operator++() {
  const Value value = (**this).value;
  name_.index_ = index_after(value.node(), value.index_);
  return *this;
}

std::optional<Value> Members::find(std::string_view name) const {
  for (const Member member : *this) {
    if (member.name.text() == name) return member.value;
  }
  return std::nullopt;
}

std::optional<Type> type_of_json(std::string_view text) {
  const Document document(text, {.max_size = std::numeric_limits<std::uint32_t>::max(),
                                 .max_depth = std::numeric_limits<std::uint32_t>::max(),
                                 .max_faults = 1,
                                 .grammar_only = true});
  if (!document.root() || !document.faults().empty()) return std::nullopt;
  return document.root()->type();
}

bool is_json(std::string_view text) { return type_of_json(text).has_value(); }

std::string minified(Value value) {
  std::string out;
  bool in_string = false;
  bool escaped = false;
  for (const char c : value.source()) {
    if (!in_string && (c == ' ' || c == '\t' || c == '\r' || c == '\n')) continue;
    out.push_back(c);
    if (c == '"' && !escaped) in_string = !in_string;
    escaped = c == '\\' && !escaped;
  }
  return out;
}

void append_pointer_token(std::string& pointer, std::string_view token) {
  pointer.push_back('/');
  for (const char c : token) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer.push_back(c);
    }
  }
}

}  // namespace treaty::json
