#include "treaty/contracts/inspection/edits.h"

#include <algorithm>

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

Edit replacement_of(const Place& place, std::string json) {
  return {place.value.begin(), place.value.end(), std::move(json)};
}

std::string apply_edits(std::string_view text, std::vector<Edit> edits) {
  std::ranges::sort(edits, {}, &Edit::begin);
  std::string out;
  std::size_t at = 0;
  for (const Edit& edit : edits) {
    if (edit.begin < at) continue;
    out.append(text.substr(at, edit.begin - at));
    out.append(edit.replacement);
    at = edit.end;
  }
  out.append(text.substr(at));
  return out;
}

}  // namespace treaty::contracts
