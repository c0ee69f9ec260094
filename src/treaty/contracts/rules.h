// The ledger: every rule that Treaty can refuse, warn or tell by, with its sentence and its source.
// rules.cpp has the rules. Whoever only reports one needs its id alone (rule_ids.h).
#pragma once

#include <span>
#include <string_view>

namespace treaty::contracts {

// How a rule makes itself heard.
enum class Effect {
  refuses,    // A violation with this id. Some such rules also warn, where their sentence says so.
  warns,      // A warning with this id; the document stays valid.
  tells,      // Decides the kind of a document; never reported by itself.
  delegates,  // Reported under the id of the inner rule, with the full pointer.
};

struct Rule {
  std::string_view id;        // Such as "RES-12".
  std::string_view source;    // The clause it comes from, such as "AGN-033 §3.4".
  std::string_view sentence;  // What it says.
  Effect effect = Effect::refuses;

  // By the letters of the id: json, tools, or the name that `treaty check` has for the contract.
  std::string_view contract() const;
};

// All of them, in the order of the contracts.
std::span<const Rule> rules();

// The rule of that id; nullptr when there is none.
const Rule* find_rule(std::string_view id);

}  // namespace treaty::contracts
