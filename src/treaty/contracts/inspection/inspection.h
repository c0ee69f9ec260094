// How decoders look at a document: places that know their pointer, members found by name, and one
// list of findings. Nothing here allocates while a document is in order.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "treaty/base/json.h"
#include "treaty/base/number.h"
#include "treaty/base/text.h"
#include "treaty/contracts/decoded.h"
#include "treaty/contracts/rule_ids.h"

namespace treaty::contracts {

// A value together with the way to it. A place refers to its parent, which must outlive it; both
// live on the decoders' stack.
struct Place {
  json::Value value;
  const Place* parent = nullptr;
  std::string_view name{};  // In the parent, when that is an object;
  std::size_t index = 0;    // else the index in the array.

  std::string pointer() const;
};

bool absent_in_request(json::Value value);

// Null where a contract counts JSON's null as absent.
const Place* unless_null(const Place* place);

// One document under inspection.
class Inspection {
 public:
  // `root_names` tell the dialect: the case of the first of them that the document has.
  Inspection(std::string_view bytes, const DecodeOptions& options, json::NameCase names,
             std::span<const std::string_view> root_names);
  Inspection(const Inspection&) = delete;
  Inspection& operator=(const Inspection&) = delete;

  // While it lives, the document inside this one at `place` tells how names are spelt.
  class InnerDocument {
   public:
    InnerDocument(Inspection& inspection, const Place& place);
    ~InnerDocument();
    InnerDocument(const InnerDocument&) = delete;
    InnerDocument& operator=(const InnerDocument&) = delete;

   private:
    Inspection& inspection_;
    Dialect dialect_;  // Those of the document around it.
    Dialect spelling_;
  };

  // The top object; null when the document is unreadable or something else (JSON-06).
  const Place* root() const { return root_.has_value() ? &*root_ : nullptr; }

  Dialect dialect() const { return dialect_; }
  json::NameCase name_case() const { return names_; }
  const DecodeOptions& options() const { return options_; }
  bool lenient() const { return options_.profile != Profile::strict; }
  bool clean() const { return verdict_.violations.empty(); }
  bool has_enough() { return full(verdict_.violations); }  // No more violations are told.
  void set_kind(std::string_view kind) { verdict_.kind = kind; }

  void refuse(RuleId rule, const Place& place, std::string message, std::string hint = {});
  void warn(RuleId rule, const Place& place, std::string message, std::string hint = {});

  // For a member that is not there: `name` in PascalCase is spelt as the document spells its first.
  void refuse_missing(RuleId rule, const Place& object, std::string_view name,
                      std::string message = {}, std::string hint = {});

  // Something with one obvious repair: lenient warns, keeps `edits` and answers true; strict
  // refuses and answers false. A repair never covers a place that the JSON rules refuse: that is
  // for a person to mend, and lenient refuses there, too.
  bool repair(RuleId rule, const Place& place, std::string message, std::string hint,
              std::vector<Edit> edits);
  bool repair_missing(RuleId rule, const Place& object, std::string_view name, std::string message,
                      std::string hint, std::vector<Edit> edits);

  // False when `place` is null, and when it is of another type, which is refused.
  bool is_string(RuleId rule, const Place* place, std::string_view hint = {});
  bool is_object(RuleId rule, const Place* place, std::string_view hint = {});
  bool is_array(RuleId rule, const Place* place);
  bool is_boolean(RuleId rule, const Place* place);

  // A string that is not blank; "" when it was refused.
  std::string text(RuleId rule, const Place& place, std::string_view hint = {});

  // A string that may be left out: nothing when `place` is null, and when it was refused.
  std::optional<std::string> optional_text(RuleId rule, const Place* place);

  // An integer of at least `least`; nothing when `place` is null, and when it was refused. A number
  // that is no int64 integer is JSON-05 at the field; every other mistake is the rule's.
  std::optional<std::int64_t> integer(RuleId rule, const Place* place,
                                      std::int64_t least = INT64_MIN);

  // A number that may be left out: nothing when `place` is null, and when it was refused.
  std::optional<Number> number(RuleId rule, const Place* place);

  // Sorts the findings into document order, gives them lines and columns, and hands all over.
  Verdict finish();

 private:
  void report_fault(const json::Fault& fault);
  bool full(const Findings& findings);  // Then it notes that there was more.
  std::size_t& bytes_of(const Findings& findings);
  void add(Findings& to, Finding finding);
  bool add_repair(Finding finding, std::vector<Edit> edits);
  bool hides_fault(const Edit& edit) const;
  bool is_of(RuleId rule, const Place* place, bool (json::Value::*test)() const,
             std::string_view wanted, std::string_view hint = {});
  Finding at(RuleId rule, const Place& place, std::string message, std::string hint) const;
  Finding missing(RuleId rule, const Place& object, std::string_view name, std::string message,
                  std::string hint) const;
  std::string spelled_here(std::string_view name) const;

  const DecodeOptions& options_;
  json::NameCase names_;
  json::Document document_;
  std::vector<std::size_t> fault_offsets_;  // Sorted.
  std::optional<Place> root_;
  Dialect dialect_ = Dialect::pascal;   // What an answer follows.
  Dialect spelling_ = Dialect::pascal;  // How a missing member is spelt: as the first one there is.
  Verdict verdict_;
  std::size_t violation_bytes_ = 0;  // Of pointers and messages.
  std::size_t warning_bytes_ = 0;
};

// Neither constexpr nor defined: a Name that is not in the list cannot be evaluated.
void this_name_is_not_in_the_list();

// The known members of one object, found by their names. These are matched by the inspection's case
// rule, and the first of two equal ones counts (the second is JSON-02).
//
//   constexpr std::string_view kFileNames[] = {"Name", "Url"};
//   const KnownMembers<kFileNames> members(inspection, place);
//   file.name = members.required_text("RES-40", "Name");
//   if (members["Url"] != nullptr) …  // A name that is not in the list does not compile.
template <const auto& kNames>
class KnownMembers {
 public:
  // A name of the list, by its place in it.
  struct Name {
    consteval Name(const char* name) : place(find(name, json::NameCase::exact)) {
      if (place == std::size(kNames)) this_name_is_not_in_the_list();
    }
    std::size_t place;
  };

  KnownMembers(Inspection& inspection, const Place& object)
      : inspection_(inspection), object_(object) {
    for (const json::Member member : object.value.members()) {
      const std::string_view name = member.name.text();
      const std::size_t field = find(name, inspection.name_case());
      const Place place{.value = member.value, .parent = &object, .name = name};
      if (field == std::size(kNames)) {
        unknown_.push_back(place);
      } else if (!there_[field]) {
        there_[field] = true;
        places_[field] = place;
      }
    }
  }
  KnownMembers(const KnownMembers&) = delete;
  KnownMembers& operator=(const KnownMembers&) = delete;

  // Null when the member is not there.
  const Place* operator[](Name name) const { return at(name.place); }
  const Place* at(std::size_t place) const { return there_[place] ? &places_[place] : nullptr; }

  // The same where null counts as absent,
  const Place* not_null(Name name) const { return unless_null((*this)[name]); }

  // and by the rule for requests: null, [] and blank strings count as absent.
  const Place* given(Name name) const {
    const Place* place = (*this)[name];
    return place == nullptr || absent_in_request(place->value) ? nullptr : place;
  }

  // A member that must be there: null when it was refused because it is not.
  const Place* required(RuleId rule, Name name, std::string hint = {}) const {
    const Place* place = (*this)[name];
    if (place == nullptr) {
      inspection_.refuse_missing(rule, object_, kNames[name.place], {}, std::move(hint));
    }
    return place;
  }

  // The same for a string that is not blank; "" when it was refused.
  std::string required_text(RuleId rule, Name name, std::string_view hint = {}) const {
    const Place* place = required(rule, name, std::string(hint));
    return place == nullptr ? "" : inspection_.text(rule, *place, hint);
  }

  const Place& object() const { return object_; }
  const std::vector<Place>& unknown() const { return unknown_; }

 private:
  static constexpr std::size_t find(std::string_view name, json::NameCase name_case) {
    for (std::size_t i = 0; i < std::size(kNames); ++i) {
      if (kNames[i].size() != name.size()) continue;
      if (kNames[i] == name) return i;
      if (name_case == json::NameCase::folded && equal_folded(kNames[i], name)) return i;
    }
    return std::size(kNames);
  }

  Inspection& inspection_;
  const Place& object_;
  std::array<Place, std::size(kNames)> places_{};
  std::array<bool, std::size(kNames)> there_{};
  std::vector<Place> unknown_;
};

// The case of the first member; PascalCase when there is none.
Dialect spelling_of(json::Value object);

// Every entry of an array, inspected one after the other. Of a document that is refused anyway only
// so many are kept: its value is never handed out, and a list of millions must not be held twice.
template <class Inspect>
auto inspect_entries(Inspection& inspection, const Place& array, Inspect inspect) {
  constexpr std::size_t kMostOfRefused = 10'000;
  std::vector<std::invoke_result_t<Inspect, Inspection&, const Place&>> entries;
  std::size_t index = 0;
  for (const json::Value element : array.value.elements()) {
    if (inspection.has_enough()) break;
    const Place place{.value = element, .parent = &array, .index = index++};
    auto entry = inspect(inspection, place);
    if (inspection.clean() || entries.size() < kMostOfRefused) entries.push_back(std::move(entry));
  }
  return entries;
}

// The frame of every decoder: the value that `inspect` makes of the top object is handed out only
// when nothing was refused.
template <class T, class Inspect>
Decoded<T> decode_by(Inspect inspect, std::string_view bytes, const DecodeOptions& options,
                     json::NameCase names, std::span<const std::string_view> root_names) {
  Inspection inspection(bytes, options, names, root_names);
  std::optional<T> value;
  if (inspection.root() != nullptr) value = inspect(inspection, *inspection.root());
  if (!inspection.clean()) value.reset();
  return {std::move(value), inspection.finish()};
}

// Sorts findings into document order, drops repeated ones and gives each its line and column.
void put_in_order(Findings& findings, std::string_view text);

// "a string", "an object": for messages.
std::string_view a_kind_of(json::Type type);

// The last part of the way to a place, as messages call it: a name, or "entry 3".
std::string called(const Place& place);

}  // namespace treaty::contracts
