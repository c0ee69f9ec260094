#include "treaty/base/json.h"

#include <charconv>
#include <cstring>
#include <limits>

#include "treaty/base/number.h"

namespace treaty::json {
namespace {

// The index of the node after `node` and all that is inside it.
std::uint32_t index_after(const DocumentNode& node, std::uint32_t index) {
  const bool container = node.type == Type::array || node.type == Type::object;
  return container ? node.extra : index + 1;
}

// A text of opening brackets alone would otherwise take 30 times its size.
constexpr std::size_t kDeepestJson = 100'000;

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

double Value::number() const { return parse_decimal(source()).value_or(0); }

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

// Goes over the nodes themselves: readers of wires ask for many names that are not there, and most
// names differ in their length already.
std::optional<Value> Members::find(std::string_view name) const {
  const Document& document = *object_.document_;
  const DocumentNode* const nodes = document.nodes_.data();
  const std::uint32_t end = nodes[object_.index_].extra;
  for (std::uint32_t i = object_.index_ + 1; i < end; i = index_after(nodes[i + 1], i + 1)) {
    const DocumentNode& node = nodes[i];
    const std::size_t size = node.end - node.begin - 2;
    if (node.escaped ? document.text(node) == name
                     : size == name.size() && std::memcmp(document.source_.data() + node.begin + 1,
                                                          name.data(), size) == 0) {
      return Value(&document, i + 1);
    }
  }
  return std::nullopt;
}

std::optional<Type> type_of_json(std::string_view text) {
  const Document document(text, {.max_size = std::numeric_limits<std::uint32_t>::max(),
                                 .max_depth = kDeepestJson,
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

std::optional<Value> find_member(std::optional<Value> object, std::string_view name) {
  if (!object || !object->is_object()) return std::nullopt;
  const auto value = object->members().find(name);
  return value && !value->is_null() ? value : std::nullopt;
}

std::string_view text_of(std::optional<Value> value) {
  return value && value->is_string() ? value->text() : std::string_view();
}

std::string_view find_text(std::optional<Value> object, std::string_view name) {
  return text_of(find_member(object, name));
}

std::optional<std::int64_t> find_integer(std::optional<Value> object, std::string_view name) {
  const auto value = find_member(object, name);
  return value ? value->integer() : std::nullopt;
}

std::optional<double> find_number(std::optional<Value> object, std::string_view name) {
  const auto value = find_member(object, name);
  return value && value->is_number() ? std::optional(value->number()) : std::nullopt;
}

bool is_true(std::optional<Value> value) {
  return value && value->is_boolean() && value->boolean();
}

}  // namespace treaty::json
