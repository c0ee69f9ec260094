// Fuzzes the questions that contracts ask of text: leaks, fences, payloads, timestamps, base64 and
// the matching of tool results. Ids for the last are split from the input: a,b|b,a.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "require.h"
#include "treaty/base/base64.h"
#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"
#include "treaty/contracts/text/guarded_text.h"
#include "treaty/contracts/text/leaks.h"
#include "treaty/contracts/tool_matching.h"

using namespace treaty;             // NOLINT: a target is one file.
using namespace treaty::contracts;  // NOLINT
using fuzz::require;

namespace {

// A leak stays one when prose stands on the lines around it.
void check_leaks(const std::string& text) {
  if (find_leak(text).empty()) return;
  require(!find_leak("Well,\n" + text).empty());
  require(!find_leak(text + "\nthat is all").empty());
}

bool lies_in(std::string_view part, std::string_view whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

void check_fences(std::string_view text) {
  std::size_t at = 0;
  for (const Fence& fence : find_fences(text)) {
    require(at <= fence.begin && fence.begin < fence.end && fence.end <= text.size());
    require(fence.begin == 0 || text[fence.begin - 1] == '\n' || text[fence.begin - 1] == '\r');
    const std::string_view block = text.substr(fence.begin, fence.end - fence.begin);
    require(lies_in(fence.info, block) && lies_in(fence.body, block));
    require(!fence.info.contains('\n') && !fence.info.contains('\r'));
    at = fence.end;
  }
}

bool is_base64_character(char c) { return is_alphanumeric(c) || c == '+' || c == '/'; }

// RES-31 told the slow way, every place by itself.
bool embeds_at(std::string_view rest) {
  std::size_t size = 0;
  while (size < rest.size() && is_base64_character(rest[size])) ++size;
  if (size > 0)
    size += rest.substr(size).starts_with("==") ? 2 : rest.substr(size).starts_with('=');
  if (size >= 1024) return true;
  if (!starts_with_folded(rest, "data:")) return false;
  const std::size_t end = std::min(rest.find_first_of(", \t\r\n()<>\""), rest.size());
  return end < rest.size() && rest[end] == ',' && end >= std::string_view("data:;base64").size() &&
         equal_folded(rest.substr(end - 7, 7), ";base64");
}

void check_embedded(std::string_view text) {
  if (text.find_first_of("`~") != std::string_view::npos) return;  // There may be fences.
  bool embeds = false;
  for (std::size_t at = 0; at < text.size() && !embeds; ++at) embeds = embeds_at(text.substr(at));
  require(has_embedded_file(text) == embeds);
}

// RES-30, RES-31: a tagged fence guards whatever cannot close it.
void check_guards(const std::string& text) {
  const bool payload = has_unguarded_payload(text);
  require(!payload || text.contains('{') || text.contains('['));
  if (text.contains('`')) return;
  const std::string guarded = "```json\n" + text + "\n```\n";
  require(!has_unguarded_payload(guarded) && !has_embedded_file(guarded));
}

void check_timestamp(const std::string& text) {
  const TimestampForm form = timestamp_form(text);
  if (form == TimestampForm::none) return;
  require(text.size() >= std::string_view("2025-11-24T14:22").size());
  require(timestamp_form(text + " ") == TimestampForm::none);
  const TimestampForm zoned = timestamp_form(text + "Z");
  require((form == TimestampForm::naive) ==
          (zoned == TimestampForm::rfc3339 || zoned == TimestampForm::iso8601));
}

std::string base64_of(std::string_view bytes) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::array<unsigned, 3> group{};
    const std::size_t size = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < size; ++k) group[k] = static_cast<unsigned char>(bytes[i + k]);
    const unsigned bits = (group[0] << 16U) | (group[1] << 8U) | group[2];
    for (unsigned k = 0; k < 4; ++k) {
      out.push_back(k <= size ? kAlphabet[(bits >> (18U - 6U * k)) & 63U] : '=');
    }
  }
  return out;
}

void check_base64(std::string_view text) {
  const auto size = base64_decoded_size(text);
  const auto bytes = base64_decode(text);
  require(size.has_value() == bytes.has_value());
  require(base64_decode(base64_of(text)) == text);
  if (!bytes) return;
  require(bytes->size() == *size);
  // Only the bits that padding leaves unused may differ: one character, in the last group.
  const std::string canonical = base64_of(*bytes);
  require(canonical.size() == text.size());
  const auto [difference, _] = std::ranges::mismatch(canonical, text);
  require(canonical.end() - difference <= 3);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

bool holds(const std::vector<std::string>& ids, std::optional<std::size_t> at,
           const std::string& id) {
  return !at || (*at < ids.size() && ids[*at] == id);
}

void check_matching(const std::vector<std::string>& expected, const std::vector<std::string>& got) {
  const Matching matching = match_tool_results(expected, got);
  const auto& broken = matching.broken;
  require(broken.empty() == (expected == got));
  require(broken.empty() == matching.first_difference.empty());
  require(!broken.empty() || matching.differences.empty());
  const bool count = std::ranges::find(broken, RuleId("TOOL-10")) != broken.end();
  require(count == (expected.size() != got.size()));
  for (const Difference& difference : matching.differences) {
    require(difference.expected_at || difference.got_at);
    require(holds(expected, difference.expected_at, difference.id));
    require(holds(got, difference.got_at, difference.id));
  }
  std::vector<std::string> calls = expected;
  std::ranges::sort(calls);
  const bool distinct = std::ranges::adjacent_find(calls) == calls.end();
  require(broken.empty() || !distinct || !matching.differences.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::as_text(data, size));
  check_leaks(text);
  check_fences(text);
  check_guards(text);
  check_embedded(text);
  check_timestamp(text);
  check_base64(text);
  const std::size_t bar = std::min(text.find('|'), text.size());
  const auto expected = split(std::string_view(text).substr(0, bar), ',');
  check_matching(expected,
                 split(std::string_view(text).substr(bar).substr(bar < text.size()), ','));
  check_matching(expected, expected);
  return 0;
}
