#include "treaty/templates/value.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "treaty/base/json_write.h"
#include "treaty/templates/language/numbers.h"

namespace treaty::templates {
namespace {

using boost::json::kind;

bool are_equal_lists(const List& left, const List& right) {
  return std::ranges::equal(left, right, are_equal);
}

bool are_equal_objects(const Object& left, const Object& right) {
  if (left.size() != right.size()) return false;
  return std::ranges::all_of(left, [&](const auto& member) {
    const Dynamic* other = right.if_contains(member.key());
    return other != nullptr && are_equal(member.value(), *other);
  });
}

// Writes JSON on one line, or with a line for each element.
class Printer {
 public:
  explicit Printer(std::string& out, std::optional<std::size_t> indent = std::nullopt)
      : out_(out), indent_(indent) {}

  void append(const Dynamic& value) {
    switch (value.kind()) {
      case kind::null: out_ += "null"; return;
      case kind::bool_: out_ += value.get_bool() ? "true" : "false"; return;
      case kind::int64: out_ += std::to_string(value.get_int64()); return;
      case kind::uint64: out_ += std::to_string(value.get_uint64()); return;
      case kind::double_: out_ += json::decimal_text(value.get_double()); return;
      case kind::string: json::append_quoted(out_, value.get_string()); return;
      case kind::array: append(value.get_array()); return;
      case kind::object: append(value.get_object()); return;
    }
  }

 private:
  void append(const List& list) {
    open('[');
    for (std::size_t at = 0; at < list.size(); ++at) {
      separate(at == 0);
      append(list[at]);
    }
    close(']', list.empty());
  }

  void append(const Object& object) {
    open('{');
    bool is_first = true;
    for (const auto& member : object) {
      separate(std::exchange(is_first, false));
      json::append_quoted(out_, member.key());
      out_ += ": ";
      append(member.value());
    }
    close('}', object.empty());
  }

  void open(char bracket) {
    out_.push_back(bracket);
    ++depth_;
  }

  void close(char bracket, bool is_empty) {
    --depth_;
    if (!is_empty) break_line();
    out_.push_back(bracket);
  }

  void separate(bool is_first) {
    if (!is_first) out_ += indent_ ? "," : ", ";
    break_line();
  }

  void break_line() {
    if (!indent_) return;
    out_.push_back('\n');
    out_.append(depth_ * *indent_, ' ');
  }

  std::string& out_;
  std::optional<std::size_t> indent_;
  std::size_t depth_ = 0;
};

}  // namespace

bool is_true(const Dynamic& value) {
  switch (value.kind()) {
    case kind::null: return false;
    case kind::bool_: return value.get_bool();
    case kind::int64: return value.get_int64() != 0;
    case kind::uint64: return value.get_uint64() != 0;
    case kind::double_: return value.get_double() != 0;
    case kind::string: return !value.get_string().empty();
    case kind::array: return !value.get_array().empty();
    case kind::object: return !value.get_object().empty();
  }
  return false;
}

bool are_equal(const Dynamic& left, const Dynamic& right) {
  if (const auto number = language::numeric_of(left)) {
    const auto other = language::numeric_of(right);
    return other && language::order(*number, *other) == std::partial_ordering::equivalent;
  }
  if (left.kind() != right.kind()) return false;
  switch (left.kind()) {
    case kind::string: return left.get_string() == right.get_string();
    case kind::array: return are_equal_lists(left.get_array(), right.get_array());
    case kind::object: return are_equal_objects(left.get_object(), right.get_object());
    default: return true;  // Two nulls.
  }
}

std::string print_json(const Dynamic& value) {
  std::string out;
  Printer(out).append(value);
  return out;
}

std::string print_indented_json(const Dynamic& value, std::size_t indent) {
  std::string out;
  Printer(out, indent).append(value);
  return out;
}

void append_printed(std::string& out, const Dynamic& value) {
  switch (value.kind()) {
    case kind::null: out += "None"; return;
    case kind::bool_: out += value.get_bool() ? "True" : "False"; return;
    case kind::string: out += std::string_view(value.get_string()); return;
    default: Printer(out).append(value);
  }
}

std::string print(const Dynamic& value) {
  std::string out;
  append_printed(out, value);
  return out;
}

}  // namespace treaty::templates
