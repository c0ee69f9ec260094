#include "treaty/contracts/text/guarded_text.h"

#include <algorithm>

#include "treaty/base/json.h"
#include "treaty/base/text.h"

namespace treaty::contracts {
namespace {

constexpr std::size_t kShortestFence = 3;
constexpr std::size_t kDeepestIndent = 3;
constexpr std::size_t kLongestRun = 1024;  // RES-31: a run of this many is a file.

struct FenceMark {
  char character = 0;  // 0: the line is no fence.
  std::size_t length = 0;
  std::string_view info;
};

FenceMark fence_mark(std::string_view line) {
  const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  if (indent > kDeepestIndent || indent == line.size()) return {};
  const char character = line[indent];
  if (character != '`' && character != '~') return {};
  const std::size_t end = std::min(line.find_first_not_of(character, indent), line.size());
  if (end - indent < kShortestFence) return {};
  const std::string_view info = trimmed(line.substr(end));
  // A backtick after backticks makes it a code span.
  if (character == '`' && info.contains('`')) return {};
  return {.character = character, .length = end - indent, .info = info};
}

bool closes(const FenceMark& mark, const FenceMark& opening) {
  return mark.character == opening.character && mark.length >= opening.length && mark.info.empty();
}

bool is_base64_character(char c) { return is_alphanumeric(c) || c == '+' || c == '/'; }

// Looks only at every place that a long enough run cannot jump over, and from there both ways.
bool has_base64_run(std::string_view text) {
  constexpr std::size_t kMostPadding = 2;
  constexpr std::size_t kStride = kLongestRun - kMostPadding;
  for (std::size_t at = kStride - 1; at < text.size(); at += kStride) {
    if (!is_base64_character(text[at])) continue;
    std::size_t begin = at;
    while (begin > 0 && is_base64_character(text[begin - 1])) --begin;
    std::size_t end = at;
    while (end < text.size() && is_base64_character(text[end])) ++end;
    std::size_t padding = 0;
    while (padding < kMostPadding && text.substr(end + padding).starts_with('=')) ++padding;
    if (end + padding - begin >= kLongestRun) return true;
    at = end;
  }
  return false;
}

// `data:`, then no delimiter up to a comma, with `;base64` right before it.
bool has_base64_uri(std::string_view text) {
  constexpr std::string_view kScheme = "data";
  constexpr std::string_view kMarker = ";base64";
  std::size_t end = 0;  // Of the word around the colon, found once for all the colons in it.
  for (std::size_t at = text.find(':'); at != std::string_view::npos; at = text.find(':', at + 1)) {
    if (at < kScheme.size() ||
        !equal_folded(text.substr(at - kScheme.size(), kScheme.size()), kScheme)) {
      continue;
    }
    if (end <= at) end = text.find_first_of(", \t\r\n()<>\"", at);
    if (end == std::string_view::npos) return false;
    if (text[end] == ',' && end - at > kMarker.size() &&
        equal_folded(text.substr(end - kMarker.size(), kMarker.size()), kMarker)) {
      return true;
    }
  }
  return false;
}

bool is_embedded(std::string_view text) { return has_base64_run(text) || has_base64_uri(text); }

}  // namespace

bool is_payload(std::string_view text) {
  const std::string_view content = trimmed(text);
  if (!content.starts_with('{') && !content.starts_with('[')) return false;
  return json::is_json(content);
}

std::vector<Fence> find_fences(std::string_view text) {
  std::vector<Fence> fences;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const Line opening_line = line_at(text, at);
    at = opening_line.next;
    const FenceMark opening = fence_mark(opening_line.text);
    if (opening.character == 0) continue;
    const std::size_t body = std::min(at, text.size());
    Fence fence{
        .info = opening.info, .body = text.substr(body), .begin = begin, .end = text.size()};
    while (at < text.size()) {
      const std::size_t line_begin = at;
      const Line line = line_at(text, at);
      at = line.next;
      if (!closes(fence_mark(line.text), opening)) continue;
      fence.body = text.substr(body, line_begin - body);
      fence.end = std::min(at, text.size());
      break;
    }
    fences.push_back(fence);
  }
  return fences;
}

bool has_unguarded_payload(std::string_view text) {
  return is_payload(text) || std::ranges::any_of(find_fences(text), [](const Fence& fence) {
           return fence.info.empty() && is_payload(fence.body);
         });
}

bool has_embedded_file(std::string_view text) {
  std::size_t at = 0;
  for (const Fence& fence : find_fences(text)) {
    if (fence.info.empty()) continue;
    if (is_embedded(text.substr(at, fence.begin - at))) return true;
    at = fence.end;
  }
  return is_embedded(text.substr(at));
}

}  // namespace treaty::contracts
