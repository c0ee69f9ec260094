// What every decoder is asked and what it answers: a value, or all that is wrong, each finding with
// its rule and its place.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "treaty/contracts/inspection/names.h"
#include "treaty/contracts/rule_ids.h"

namespace treaty::contracts {

enum class Profile {
  strict,   // Refuses.
  lenient,  // Repairs what has one obvious repair and warns of each repair.
  mending,  // Lenient, and repairs whatever else has a single reading: for --fix.
};

enum class Role { producer, consumer };

// Whether the `response` of a bridge answer is read as JSON (BRS-13).
enum class Inner {
  automatic,  // When its metadata declares a JSON content_type.
  json,
  text,
};

struct DecodeOptions {
  Profile profile = Profile::strict;
  std::size_t max_size = std::size_t{16} << 20U;  // JSON-03.
  Role role = Role::producer;                     // Assistant Response: ARL-02, ARL-03.
  Inner inner = Inner::automatic;
  bool ids_optional = false;  // Requests: a user turn may name neither session nor turn.
  std::optional<std::string> request_id{};   // Bridge: the id of the request at hand (BRS-12).
  std::string now = "1970-01-01T00:00:00Z";  // Bridge: the time a wrapped answer gets (BRS-14).
};

// One finding: a violation, or a warning. A type of its own beside Diagnostic, since each finding
// has a rule of the ledger (an id that the compiler checks, no text), marks a piece of the document
// for editors and code scanning, and may be repaired; a Diagnostic has none of these.
struct Finding {
  RuleId rule;
  std::string where;  // JSON pointer (RFC 6901).
  std::string message;
  std::string hint{};      // What to do about it; empty when there is nothing to add.
  std::size_t offset = 0;  // Where in the text, in bytes,
  std::size_t length = 0;  // and how much of it.
  std::size_t line = 1;    // The same for people; both count from 1,
  std::size_t column = 1;  // columns in characters.
  bool repaired = false;   // A warning of something that lenient repaired.
};

using Findings = std::vector<Finding>;

// A piece of the document's text and what a repair puts in its place.
struct Edit {
  std::size_t begin;
  std::size_t end;
  std::string replacement;
};

// What an inspection came to, whatever the contract.
struct Verdict {
  Findings violations{};
  Findings warnings{};
  std::vector<Edit> edits{};  // What lenient repaired, as changes of the text.
  std::string_view kind{};    // Scenario or outcome, such as "final"; empty when it cannot be told.
  Dialect dialect = Dialect::pascal;  // How the document spells its names.
  bool truncated = false;             // There was more than a list of findings takes.

  bool valid() const { return violations.empty(); }
};

// A decoder's answer. It holds a value exactly when there are no violations.
template <class T>
class Decoded {
 public:
  Decoded(std::optional<T> value, Verdict verdict)
      : value_(std::move(value)), verdict_(std::move(verdict)) {}

  explicit operator bool() const { return value_.has_value(); }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

  const Findings& error() const { return verdict_.violations; }
  const Findings& warnings() const { return verdict_.warnings; }
  const Verdict& verdict() const& { return verdict_; }
  Verdict verdict() && { return std::move(verdict_); }

 private:
  std::optional<T> value_;
  Verdict verdict_;
};

}  // namespace treaty::contracts
