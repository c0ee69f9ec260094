// Fuzzes the JSON reader against simdjson: what one of them takes the other takes, and both read
// the same value out of it.
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "require.h"
#include "treaty/base/json.h"
#include "treaty/base/text.h"

using namespace treaty;  // NOLINT: a target is one file.
using fuzz::require;
using json::FaultKind;
using json::Type;
using simdjson::dom::element_type;

namespace {

// simdjson takes the halves of a surrogate pair; such strings mean nothing that could be compared.
void check_string(json::Value ours, std::string_view theirs, bool comparable) {
  require(ours.is_string());
  require(is_utf8(ours.text()));
  if (comparable) require(ours.text() == theirs);
}

void check_unsigned(json::Value ours, std::uint64_t theirs) {
  require(ours.type() == Type::integer && !ours.integer());
  require(ours.number() == static_cast<double>(theirs));
}

void check_double(json::Value ours, double theirs) {
  require(ours.type() == Type::decimal);
  require(ours.number() == theirs && std::signbit(ours.number()) == std::signbit(theirs));
}

void check_same(json::Value ours, simdjson::dom::element theirs, bool comparable) {
  require(ours.begin() < ours.end());
  switch (theirs.type()) {
    case element_type::NULL_VALUE: return require(ours.is_null());
    case element_type::BOOL: return require(ours.is_boolean() && ours.boolean() == bool(theirs));
    case element_type::INT64: return require(ours.integer() == std::int64_t(theirs));
    case element_type::UINT64: return check_unsigned(ours, std::uint64_t(theirs));
    case element_type::DOUBLE: return check_double(ours, double(theirs));
    case element_type::STRING: return check_string(ours, std::string_view(theirs), comparable);
    case element_type::ARRAY: {
      require(ours.is_array());
      auto element = ours.elements().begin();
      for (const auto other : simdjson::dom::array(theirs)) {
        require(element != ours.elements().end());
        check_same(*element, other, comparable);
        ++element;
      }
      return require(element == ours.elements().end());
    }
    case element_type::OBJECT: break;
  }
  require(ours.is_object());
  auto member = ours.members().begin();
  for (const auto other : simdjson::dom::object(theirs)) {
    require(member != ours.members().end());
    check_string((*member).name, other.key, comparable);
    check_same((*member).value, other.value, comparable);
    ++member;
  }
  require(member == ours.members().end());
}

bool has_fault(const json::Document& document, FaultKind kind) {
  return std::ranges::find(document.faults(), kind, &json::Fault::kind) != document.faults().end();
}

// Nothing but what is a matter of policy: both read the same grammar.
bool only_policy_faults(const json::Document& document) {
  return std::ranges::all_of(document.faults(), [](const json::Fault& fault) {
    return fault.kind == FaultKind::duplicate_name || fault.kind == FaultKind::too_deep ||
           fault.kind == FaultKind::bad_string;
  });
}

// An integer that is neither an int64 nor a uint64: simdjson has no type for it.
bool is_huge(json::Value value) {
  if (value.type() != Type::integer || value.integer()) return false;
  const std::string_view digits = value.source();
  std::uint64_t large = 0;
  return std::from_chars(digits.data(), digits.data() + digits.size(), large).ec != std::errc();
}

bool has_huge_integer(json::Value value) {
  if (value.is_array()) {
    for (const json::Value element : value.elements()) {
      if (has_huge_integer(element)) return true;
    }
  }
  if (value.is_object()) {
    for (const json::Member member : value.members()) {
      if (has_huge_integer(member.value)) return true;
    }
  }
  return is_huge(value);
}

void check_faults(const json::Document& document, std::string_view text) {
  require(document.root().has_value() || !document.faults().empty());
  for (const json::Fault& fault : document.faults()) {
    require(fault.offset <= text.size());
    require(!fault.message.empty() && is_utf8(fault.message));
    require(fault.pointer.empty() || (fault.pointer[0] == '/' && is_utf8(fault.pointer)));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  require(is_utf8(text) == simdjson::validate_utf8(text.data(), text.size()));
  const json::Document ours(text);
  check_faults(ours, text);

  static simdjson::dom::parser parser;
  const simdjson::padded_string padded(text);
  simdjson::dom::element theirs;
  const simdjson::error_code error = parser.parse(padded).get(theirs);
  if (json::is_json(text)) {
    require(error == simdjson::SUCCESS || error == simdjson::NUMBER_ERROR ||
            error == simdjson::DEPTH_ERROR);
  }
  if (error == simdjson::SUCCESS) {
    require(json::is_json(text) || has_fault(ours, FaultKind::bad_string) ||
            has_fault(ours, FaultKind::too_deep));
    require(only_policy_faults(ours));
    require(ours.root().has_value() || has_fault(ours, FaultKind::too_deep));
    if (ours.root()) check_same(*ours.root(), theirs, !has_fault(ours, FaultKind::bad_string));
  } else if (ours.faults().empty()) {
    require(error == simdjson::NUMBER_ERROR && has_huge_integer(*ours.root()));
  }
  return 0;
}
