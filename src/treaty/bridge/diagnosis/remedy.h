// What is to be done about the file in an answer's place: `doctor` says it, `check --fix` does it,
// and both ask here. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "treaty/bridge/exchange.h"
#include "treaty/bridge/journal.h"
#include "treaty/contracts/repair.h"

namespace treaty::bridge {

enum class Act {
  leave,     // It is in order, or a person has to decide.
  put_away,  // It goes to the quarantine.
  move,      // It goes to the place of the request that it answers,
  swap,      // where the answer to yet another request is now.
  repair,    // It is written as it was meant.
};

struct Remedy {
  Act act = Act::leave;
  std::string_view reason{};        // put_away: the word for the quarantine, such as "stale".
  const Exchange* owner = nullptr;  // move, swap, and some put_away: the request that it answers.
  contracts::Repaired repaired{};   // repair: the new text.
  std::optional<contracts::BridgeResponse> document{};  // What a broken one says, once repaired.
};

// What a directory is, for a remedy.
struct Surroundings {
  std::span<const Exchange> exchanges{};  // All of it.
  std::span<const Entry> journal{};
  double now = 0;  // Seconds since 1970.
};

// For the answer of an exchange that is one of those of the surroundings.
Remedy remedy_for(const Exchange& exchange, const Surroundings& around);

struct VerdictOfText {
  contracts::Verdict verdict{};
  std::string text{};  // That the places of the findings are in.
};

// What keeps a broken answer, or a broken request, from being repaired: the verdict of the mending
// profile, which names the member that has several readings and none that has only one. That of the
// file itself when there is none.
VerdictOfText verdict_after_repair(const Exchange& exchange, const ResponseFile& file);
VerdictOfText verdict_after_repair(const RequestFile& file);

// Whether a text is what an agent said and nothing around it: prose, a list, a number. Of what has
// the words of an envelope it is unknown what was meant.
bool is_bare_text(const std::string& text);

bool breaks(const contracts::Verdict& verdict, std::string_view rule);

// Whether the journal knows the answer of an exchange without a request: the request was answered,
// and its host has deleted it.
bool is_known_answer(const Exchange& exchange, std::span<const Entry> journal);

}  // namespace treaty::bridge
