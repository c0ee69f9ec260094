#include "treaty/contracts/text/guarded_text.h"

#include <algorithm>

#include "treaty/base/json.h"
#include "treaty/base/text.h"

namespace treaty::contracts {
namespace {

constexpr std::size_t kShortestFence = 3;
constexpr std::size_t kDeepestIndent = 3;
constexpr std::size_t kLongestRun = 1024;  // RES-31: a run of this many is a file.

struct Line {
  std::string_view text;  // Without the line's end.
  std::size_t begin;
  std::size_t next;  // Where the following line begins.
};

Line line_at(std::string_view text, std::size_t begin) {
  const std::size_t end = std::min(text.find_first_of("\r\n", begin), text.size());
  const bool pair = text.substr(end).starts_with("\r\n");
  const std::size_t next = end == text.size() ? end : end + (pair ? 2 : 1);
  return {.text = text.substr(begin, end - begin), .begin = begin, .next = next};
}

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

bool is_payload(std::string_view text) {
  const std::string_view content = trimmed(text);
  if (!content.starts_with('{') && !content.starts_with('[')) return false;
  return json::is_json(content);
}

bool is_base64_character(char c) { return is_alphanumeric(c) || c == '+' || c == '/'; }

bool has_base64_run(std::string_view text) {
  std::size_t run = 0;
  std::size_t padding = 0;
  for (const char c : text) {
    if (is_base64_character(c) && padding == 0) {
      ++run;
    } else if (c == '=' && run > 0 && padding < 2) {
      ++padding;
    } else {
      run = is_base64_character(c) ? 1 : 0;
      padding = 0;
    }
    if (run + padding >= kLongestRun) return true;
  }
  return false;
}

// `data:`, then no delimiter up to a comma, with `;base64` right before it. One pass: only the last
// `data:` before a comma matters.
bool has_base64_uri(std::string_view text) {
  constexpr std::string_view kScheme = "data:";
  constexpr std::string_view kMarker = ";base64";
  std::size_t media = std::string_view::npos;  // Where the media type after `data:` begins.
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == ':' && at + 1 >= kScheme.size() &&
        equal_folded(text.substr(at + 1 - kScheme.size(), kScheme.size()), kScheme)) {
      media = at + 1;
    } else if (c == ',' && media != std::string_view::npos && at >= media + kMarker.size() &&
               equal_folded(text.substr(at - kMarker.size(), kMarker.size()), kMarker)) {
      return true;
    } else if (std::string_view(", \t\r\n()<>\"").contains(c)) {
      media = std::string_view::npos;
    }
  }
  return false;
}

bool is_embedded(std::string_view text) { return has_base64_run(text) || has_base64_uri(text); }

}  // namespace

std::vector<Fence> find_fences(std::string_view text) {
  std::vector<Fence> fences;
  for (std::size_t at = 0; at < text.size();) {
    const Line opening_line = line_at(text, at);
    at = opening_line.next;
    const FenceMark opening = fence_mark(opening_line.text);
    if (opening.character == 0) continue;
    Fence fence{.info = opening.info,
                .body = text.substr(at),
                .begin = opening_line.begin,
                .end = text.size()};
    while (at < text.size()) {
      const Line line = line_at(text, at);
      at = line.next;
      if (!closes(fence_mark(line.text), opening)) continue;
      fence.body = text.substr(opening_line.next, line.begin - opening_line.next);
      fence.end = line.next;
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
