// Answers that are not where their program looks: `doctor` and `check` find them by the same
// remedies and say it in the same words. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "treaty/bridge/diagnosis/remedy.h"

namespace treaty::bridge {

// What is to be done about each answer of a directory, worked out once. The exchanges of the
// surroundings outlive it.
class Remedies {
 public:
  explicit Remedies(const Surroundings& around);

  // The remedy for one exchange of the surroundings.
  const Remedy& of(const Exchange& exchange) const;

  // The exchange in whose place the answer to this request is; nullptr when there is none.
  const Exchange* place_of_answer_to(const Exchange& exchange) const;

  // Whether each of the two has the answer of the other.
  bool are_swapped(const Exchange& one, const Exchange& other) const;

 private:
  std::span<const Exchange> exchanges_;
  std::vector<Remedy> remedies_{};  // In the order of the exchanges.
};

// Where an answer to another request of the directory belongs: "answers …, whose answer belongs in
// …". Empty for every other answer.
std::string misplacement_text(const Remedy& remedy);

// Where an answer belongs that has a name, or is in a directory, where no program looks for it.
std::string stray_text(const Exchange& wanted);

}  // namespace treaty::bridge
