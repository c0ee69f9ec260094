// The Guarded Payload Rule of AGN-033 §4.1 and the ban on embedded files of §6.1, over the fences
// of CommonMark.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace treaty::contracts {

// A fenced code block. A fence inside a longer one is text of that one.
struct Fence {
  std::string_view info;  // What stands after the opening fence, trimmed; empty: no language tag.
  std::string_view body;  // The lines between the fences.
  std::size_t begin;      // Of the opening fence's line, in the text;
  std::size_t end;        // after the closing one, or the end of the text when it never closes.
};

std::vector<Fence> find_fences(std::string_view text);

// A JSON object or array, with white space around it.
bool is_payload(std::string_view text);

// RES-30: the text as a whole, or the body of a fence without a tag, is a JSON object or array.
bool has_unguarded_payload(std::string_view text);

// RES-31: outside of tagged fences stands a data: URI with base64 or a long run of base64.
bool has_embedded_file(std::string_view text);

}  // namespace treaty::contracts
