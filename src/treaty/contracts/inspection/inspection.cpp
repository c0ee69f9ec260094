#include "treaty/contracts/inspection/inspection.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "treaty/base/text.h"

namespace treaty::contracts {
namespace {

// Keep what a hostile document can make us hold within bounds.
constexpr std::size_t kMostFindings = 10'000;
constexpr std::size_t kMostBytes = std::size_t{8} << 20U;  // Of pointers and messages.

// Gives every finding its line and column in one walk over the text. `findings` is in order.
void locate(Findings& findings, std::string_view text) {
  std::size_t line = 1;
  std::size_t column = 1;
  std::size_t at = 0;
  for (Finding& finding : findings) {
    for (; at < finding.offset && at < text.size(); ++at) {
      if (text[at] == '\n') {
        ++line;
        column = 1;
      } else if ((static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U) {
        ++column;
      }
    }
    finding.line = line;
    finding.column = column;
  }
}

RuleId rule_of(json::FaultKind kind) {
  switch (kind) {
    case json::FaultKind::syntax:
    case json::FaultKind::byte_order_mark: return "JSON-01";
    case json::FaultKind::duplicate_name: return "JSON-02";
    case json::FaultKind::too_deep:
    case json::FaultKind::too_large: return "JSON-03";
    case json::FaultKind::bad_string: return "JSON-04";
    case json::FaultKind::not_finite: return "JSON-05";
  }
  return "JSON-01";
}

Dialect dialect_of(std::string_view name) {
  return !name.empty() && is_lower(name[0]) ? Dialect::camel : Dialect::pascal;
}

// The first name that the contract knows tells; without one, the first name there is.
Dialect dialect_of(json::Value object, std::span<const std::string_view> known) {
  for (const json::Member member : object.members()) {
    const std::string_view name = member.name.text();
    if (std::ranges::any_of(known, [&](auto other) { return equal_folded(name, other); })) {
      return dialect_of(name);
    }
  }
  return spelling_of(object);
}

}  // namespace

void put_in_order(Findings& findings, std::string_view text) {
  const auto key = [](const Finding& finding) {
    return std::make_tuple(finding.offset, std::string_view(finding.where), finding.rule.text());
  };
  std::ranges::sort(findings, {}, key);
  const auto repeated = std::ranges::unique(findings, {}, key);
  findings.erase(repeated.begin(), repeated.end());
  locate(findings, text);
}

Dialect spelling_of(json::Value object) {
  if (object.members().empty()) return Dialect::pascal;
  return dialect_of((*object.members().begin()).name.text());
}

std::string Place::pointer() const {
  std::vector<const Place*> way;
  for (const Place* place = this; place->parent != nullptr; place = place->parent) {
    way.push_back(place);
  }
  std::string out;
  for (auto step = way.rbegin(); step != way.rend(); ++step) {
    const bool in_object = (*step)->parent->value.is_object();
    json::append_pointer_token(out, in_object ? (*step)->name : std::to_string((*step)->index));
  }
  return out;
}

bool absent_in_request(json::Value value) {
  switch (value.type()) {
    case json::Type::null: return true;
    case json::Type::string: return is_blank(value.text());
    case json::Type::array: return value.elements().empty();
    default: return false;
  }
}

Inspection::Inspection(std::string_view bytes, const DecodeOptions& options, json::NameCase names,
                       std::span<const std::string_view> root_names)
    : options_(options),
      names_(names),
      document_(bytes, {.max_size = options.max_size, .names = names}) {
  for (const json::Fault& fault : document_.faults()) {
    if (fault.kind != json::FaultKind::byte_order_mark) fault_offsets_.push_back(fault.offset);
  }
  std::ranges::sort(fault_offsets_);
  verdict_.truncated = document_.has_more_faults();
  for (const json::Fault& fault : document_.faults()) report_fault(fault);
  const auto top = document_.root();
  if (!top) return;
  const Place root{.value = *top};
  if (!top->is_object()) {
    refuse("JSON-06", root,
           fmt::format("the document is {}, not an object", a_kind_of(top->type())));
    return;
  }
  root_ = root;
  if (names == json::NameCase::folded) {
    dialect_ = dialect_of(*top, root_names);
    spelling_ = spelling_of(*top);
    verdict_.dialect = dialect_;
  }
}

Inspection::InnerDocument::InnerDocument(Inspection& inspection, const Place& place)
    : inspection_(inspection), dialect_(inspection.dialect_), spelling_(inspection.spelling_) {
  if (!place.value.is_object() || place.value.members().empty()) return;
  inspection_.dialect_ = inspection_.spelling_ = spelling_of(place.value);
}

Inspection::InnerDocument::~InnerDocument() {
  inspection_.dialect_ = dialect_;
  inspection_.spelling_ = spelling_;
}

void Inspection::report_fault(const json::Fault& fault) {
  Finding finding{.rule = rule_of(fault.kind),
                  .where = fault.pointer,
                  .message = fault.message,
                  .offset = fault.offset,
                  .length = fault.length};
  if (fault.kind == json::FaultKind::byte_order_mark) {
    finding.hint = "save the file as UTF-8 without a byte order mark";
    add_repair(std::move(finding), {{fault.offset, fault.offset + fault.length, ""}});
    return;
  }
  add(verdict_.violations, std::move(finding));
}

// Each list has bounds of its own: warnings never crowd out the verdict.
std::size_t& Inspection::bytes_of(const Findings& findings) {
  return &findings == &verdict_.violations ? violation_bytes_ : warning_bytes_;
}

bool Inspection::full(const Findings& findings) {
  if (findings.size() < kMostFindings && bytes_of(findings) < kMostBytes) return false;
  verdict_.truncated = true;
  return true;
}

void Inspection::add(Findings& to, Finding finding) {
  if (full(to)) return;
  bytes_of(to) += finding.where.size() + finding.message.size();
  to.push_back(std::move(finding));
}

Finding Inspection::at(RuleId rule, const Place& place, std::string message,
                       std::string hint) const {
  return {.rule = rule,
          .where = place.pointer(),
          .message = std::move(message),
          .hint = std::move(hint),
          .offset = place.value.begin(),
          .length = place.value.end() - place.value.begin()};
}

Finding Inspection::missing(RuleId rule, const Place& object, std::string_view name,
                            std::string message, std::string hint) const {
  std::string where = object.pointer();
  const std::string member = spelled_here(name);
  json::append_pointer_token(where, member);
  if (message.empty()) message = fmt::format("{} is missing", member);
  return {.rule = rule,
          .where = std::move(where),
          .message = std::move(message),
          .hint = std::move(hint),
          .offset = object.value.begin(),
          .length = 1};
}

std::string Inspection::spelled_here(std::string_view name) const {
  return names_ == json::NameCase::folded ? spelled(name, spelling_) : std::string(name);
}

void Inspection::refuse(RuleId rule, const Place& place, std::string message, std::string hint) {
  if (full(verdict_.violations)) return;
  add(verdict_.violations, at(rule, place, std::move(message), std::move(hint)));
}

void Inspection::warn(RuleId rule, const Place& place, std::string message, std::string hint) {
  if (full(verdict_.warnings)) return;
  add(verdict_.warnings, at(rule, place, std::move(message), std::move(hint)));
}

void Inspection::refuse_missing(RuleId rule, const Place& object, std::string_view name,
                                std::string message, std::string hint) {
  if (full(verdict_.violations)) return;
  add(verdict_.violations, missing(rule, object, name, std::move(message), std::move(hint)));
}

bool Inspection::repair(RuleId rule, const Place& place, std::string message, std::string hint,
                        std::vector<Edit> edits) {
  return add_repair(at(rule, place, std::move(message), std::move(hint)), std::move(edits));
}

bool Inspection::repair_missing(RuleId rule, const Place& object, std::string_view name,
                                std::string message, std::string hint, std::vector<Edit> edits) {
  return add_repair(missing(rule, object, name, std::move(message), std::move(hint)),
                    std::move(edits));
}

bool Inspection::add_repair(Finding finding, std::vector<Edit> edits) {
  const bool repaired =
      lenient() && std::ranges::none_of(edits, [&](const Edit& edit) { return hides_fault(edit); });
  finding.repaired = repaired;
  add(repaired ? verdict_.warnings : verdict_.violations, std::move(finding));
  if (repaired) std::ranges::move(edits, std::back_inserter(verdict_.edits));
  return repaired;
}

bool Inspection::hides_fault(const Edit& edit) const {
  const auto first = std::ranges::lower_bound(fault_offsets_, edit.begin);
  return first != fault_offsets_.end() && *first < edit.end;
}

Verdict Inspection::finish() {
  put_in_order(verdict_.violations, document_.source());
  put_in_order(verdict_.warnings, document_.source());
  return std::move(verdict_);
}

std::string_view a_kind_of(json::Type type) {
  switch (type) {
    case json::Type::null: return "null";
    case json::Type::boolean: return "a boolean";
    case json::Type::integer:
    case json::Type::decimal: return "a number";
    case json::Type::string: return "a string";
    case json::Type::array: return "an array";
    case json::Type::object: return "an object";
  }
  return "a value";
}

std::string called(const Place& place) {
  if (place.parent == nullptr) return "the document";
  if (place.parent->value.is_object()) return std::string(place.name);
  return fmt::format("entry {}", place.index);
}

const Place* unless_null(const Place* place) {
  return place == nullptr || place->value.is_null() ? nullptr : place;
}

bool Inspection::is_of(RuleId rule, const Place* place, bool (json::Value::*test)() const,
                       std::string_view wanted, std::string_view hint) {
  if (place == nullptr || (place->value.*test)()) return place != nullptr;
  refuse(rule, *place,
         fmt::format("{} is {}, not {}", called(*place), a_kind_of(place->value.type()), wanted),
         std::string(hint));
  return false;
}

bool Inspection::is_string(RuleId rule, const Place* place, std::string_view hint) {
  return is_of(rule, place, &json::Value::is_string, "a string", hint);
}

bool Inspection::is_object(RuleId rule, const Place* place, std::string_view hint) {
  return is_of(rule, place, &json::Value::is_object, "an object", hint);
}

bool Inspection::is_array(RuleId rule, const Place* place) {
  return is_of(rule, place, &json::Value::is_array, "an array");
}

bool Inspection::is_boolean(RuleId rule, const Place* place) {
  return is_of(rule, place, &json::Value::is_boolean, "a boolean");
}

std::string Inspection::text(RuleId rule, const Place& place, std::string_view hint) {
  if (!is_string(rule, &place, hint)) return {};
  if (!is_blank(place.value.text())) return std::string(place.value.text());
  refuse(rule, place, fmt::format("{} is blank", called(place)), std::string(hint));
  return {};
}

std::optional<std::string> Inspection::optional_text(RuleId rule, const Place* place) {
  if (!is_string(rule, place)) return std::nullopt;
  return std::string(place->value.text());
}

std::optional<std::int64_t> Inspection::integer(RuleId rule, const Place* place,
                                                std::int64_t least) {
  if (!is_of(rule, place, &json::Value::is_number, "an integer")) return std::nullopt;
  const auto integer = place->value.integer();
  if (!integer) {
    refuse("JSON-05", *place,
           fmt::format("{} takes an integer inside int64, without fraction or exponent",
                       called(*place)));
  } else if (*integer < least) {
    refuse(rule, *place,
           fmt::format("{} is {}; the least it can be is {}", called(*place), *integer, least));
    return std::nullopt;
  }
  return integer;
}

std::optional<Number> Inspection::number(RuleId rule, const Place* place) {
  if (!is_of(rule, place, &json::Value::is_number, "a number")) return std::nullopt;
  const auto whole = place->value.integer();
  return whole ? Number(*whole) : Number(place->value.number());
}

}  // namespace treaty::contracts
