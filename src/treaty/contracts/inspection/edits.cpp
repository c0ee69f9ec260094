#include "treaty/contracts/inspection/edits.h"

#include <algorithm>
#include <utility>

#include "treaty/base/json_write.h"

namespace treaty::contracts {

Edit removal_of(const Place& place) {
  const json::Value object = place.parent->value;
  std::size_t previous_end = 0;  // 0: it is the first member.
  bool found = false;
  Edit edit{.begin = 0, .end = place.value.end(), .replacement = ""};
  for (const json::Member member : object.members()) {
    if (found) {
      // The first member goes together with the comma that follows it.
      if (previous_end == 0) edit.end = member.name.begin();
      break;
    }
    found = member.value.begin() == place.value.begin();
    if (found) {
      // Any other goes together with the comma before it.
      edit.begin = previous_end == 0 ? member.name.begin() : previous_end;
    } else {
      previous_end = member.value.end();
    }
  }
  return edit;
}

Edit insertion_into(const Place& object, std::string_view name, std::string_view json) {
  std::size_t at = object.value.begin() + 1;
  std::string text;
  for (const json::Member member : object.value.members()) {
    at = member.value.end();
    text = ", ";
  }
  json::append_quoted(text, name);
  text += ": ";
  text += json;
  return {.begin = at, .end = at, .replacement = std::move(text)};
}

Edit renaming_of(const Place& place, std::string_view name) {
  Edit edit{.begin = place.value.begin(), .end = place.value.begin(), .replacement = ""};
  for (const json::Member member : place.parent->value.members()) {
    if (member.value.begin() != place.value.begin()) continue;
    edit.begin = member.name.begin();
    edit.end = member.name.end();
  }
  json::append_quoted(edit.replacement, name);
  return edit;
}

Edit replacement_of(const Place& place, std::string json) {
  return {place.value.begin(), place.value.end(), std::move(json)};
}

std::string apply_edits(std::string_view text, const std::vector<Edit>& edits) {
  std::vector<const Edit*> sorted;
  sorted.reserve(edits.size());
  for (const Edit& edit : edits) sorted.push_back(&edit);
  // Insertions in one place keep their order.
  std::ranges::sort(sorted, {}, [](const Edit* edit) { return std::pair(edit->begin, edit); });
  std::string out;
  std::size_t at = 0;
  for (const Edit* edit : sorted) {
    if (edit->begin < at) continue;
    out.append(text.substr(at, edit->begin - at));
    out.append(edit->replacement);
    at = edit->end;
  }
  out.append(text.substr(at));
  return out;
}

}  // namespace treaty::contracts
