// Repairs as changes of a document's text, so that all that needs no repair stays as it was
// written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "treaty/contracts/inspection/inspection.h"

namespace treaty::contracts {

// Takes the member that stands at `place` out of its object.
Edit removal_of(const Place& place);

// Puts `"name": json` into an object, as its last member.
Edit insertion_into(const Place& object, std::string_view name, std::string_view json);

// Gives the member at `place` another name.
Edit renaming_of(const Place& place, std::string_view name);

Edit replacement_of(const Place& place, std::string json);

// The text after the edits that do not get in each other's way; of two that do, the first counts.
std::string apply_edits(std::string_view text, const std::vector<Edit>& edits);

}  // namespace treaty::contracts
