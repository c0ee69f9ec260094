// The ids of all rules, and nothing else of them: whoever reports a rule depends on its id, and not
// on its sentence (rules.h).
#pragma once

#include <string_view>

namespace treaty::contracts {

// In the order of the ledger; rules.cpp does not compile when the two differ.
inline constexpr std::string_view kRuleIds[] = {
    "JSON-01", "JSON-02", "JSON-03", "JSON-04", "JSON-05", "JSON-06", "REQ-01",  "REQ-02",
    "REQ-03",  "REQ-04",  "REQ-10",  "REQ-11",  "REQ-12",  "REQ-13",  "REQ-14",  "REQ-15",
    "REQ-21",  "REQ-22",  "REQ-23",  "REQ-24",  "REQ-25",  "REQ-26",  "REQ-30",  "REQ-31",
    "REQ-32",  "REQ-33",  "REQ-34",  "REQ-35",  "REQ-36",  "REQ-40",  "REQ-41",  "REQ-42",
    "REQ-50",  "REQ-51",  "REQ-52",  "TOOL-01", "TOOL-02", "TOOL-03", "TOOL-04", "TOOL-05",
    "TOOL-06", "TOOL-10", "TOOL-11", "TOOL-12", "TOOL-13", "RES-01",  "RES-02",  "RES-03",
    "RES-10",  "RES-11",  "RES-12",  "RES-20",  "RES-21",  "RES-22",  "RES-30",  "RES-31",
    "RES-40",  "RES-41",  "RES-50",  "RES-51",  "INV-01",  "INV-02",  "INV-03",  "INV-04",
    "RLT-01",  "RLT-02",  "RLT-03",  "RLT-04",  "RLT-05",  "RLT-06",  "RLT-07",  "RLT-08",
    "RLT-09",  "RLT-10",  "RLT-11",  "BRQ-01",  "BRQ-02",  "BRS-01",  "BRS-02",  "BRS-03",
    "BRS-04",  "BRS-05",  "BRS-06",  "BRS-07",  "BRS-08",  "BRS-09",  "BRS-10",  "BRS-11",
    "BRS-12",  "BRS-13",  "BRS-14",  "ARL-01",  "ARL-02",  "ARL-03",  "ARL-04",  "ARL-05",
    "ARL-06",  "ARL-07",  "ARL-08",  "ARL-09",
};

// Deliberately neither constexpr nor defined: a RuleId of an unknown rule cannot be evaluated.
void this_rule_is_not_in_the_ledger();

// The id of a rule that stands in the ledger: a typing error does not compile.
class RuleId {
 public:
  // Implicit, so that a rule is named where it is needed: refuse("RES-12", place, …).
  consteval RuleId(const char* id) : id_(find(id)) {
    if (id_ == nullptr) this_rule_is_not_in_the_ledger();
  }

  constexpr std::string_view text() const { return *id_; }

  friend constexpr bool operator==(RuleId left, RuleId right) { return left.id_ == right.id_; }
  friend constexpr bool operator==(RuleId left, std::string_view right) {
    return left.text() == right;
  }
  friend constexpr bool operator==(RuleId left, const char* right) { return left.text() == right; }

 private:
  static constexpr const std::string_view* find(std::string_view id) {
    for (const std::string_view& known : kRuleIds) {
      if (known == id) return &known;
    }
    return nullptr;
  }

  const std::string_view* id_;
};

}  // namespace treaty::contracts
