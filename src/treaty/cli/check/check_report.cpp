// The report for people.
#include "treaty/cli/check/check_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/text.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli {
namespace {

using contracts::Finding;

constexpr std::size_t kWidest = 96;   // Characters of a line that are shown.
constexpr std::size_t kLeading = 40;  // Of them, before the caret.

// The place `count` characters after `at`, or before it, but not past the line.
std::size_t forward(std::string_view text, std::size_t at, std::size_t count) {
  for (; count > 0 && at < text.size() && text[at] != '\n'; --count) {
    at += std::max<std::size_t>(1, read_code_point(text.substr(at)).length);
  }
  return at;
}
std::size_t backward(std::string_view text, std::size_t at, std::size_t count) {
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
  for (; count > 0 && at > 0 && text[at - 1] != '\n'; --count) {
    --at;
    while (at > 0 && continues(text[at])) --at;
  }
  return at;
}

std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

// The line of the finding, cut to what fits, with a caret below. Looks at no more of the text than
// it shows: a line may be as long as the document.
std::string quoted_line(const Checked& checked, const Finding& finding, Color color, bool colors) {
  const std::string_view text = checked.text;
  const std::size_t offset = std::min(finding.offset, text.size());
  const bool cut = finding.column - 1 > kWidest - kLeading;
  const std::size_t begin = backward(text, offset, cut ? kLeading : finding.column - 1);
  const std::size_t end = forward(text, begin, kWidest);
  const bool whole = end == text.size() || text[end] == '\n';
  std::string_view shown = text.substr(begin, end - begin);
  if (whole && shown.ends_with('\r')) shown.remove_suffix(1);

  const std::size_t marked = std::min(offset + std::max<std::size_t>(1, finding.length), end);
  const std::size_t length =
      offset < marked ? count_characters(text.substr(offset, marked - offset)) : 1;
  const std::string marker = "^" + std::string(length > 1 ? length - 1 : 0, '~');
  const std::string number = std::to_string(checked.first_line + finding.line - 1);
  const std::size_t indent = count_characters(text.substr(begin, offset - begin)) + (cut ? 1 : 0);
  return fmt::format("  {} | {}{}{}\n  {} | {}{}{}\n", number, cut ? "…" : "", harmless(shown),
                     whole ? "" : "…", std::string(number.size(), ' '), std::string(indent, ' '),
                     painted(marker, color, colors),
                     finding.where.empty() ? "" : " " + harmless(finding.where));
}

std::string one_finding(const Checked& checked, const Finding& finding, bool violation,
                        bool colors) {
  const Color color = violation ? Color::red : Color::yellow;
  const std::size_t line = checked.first_line + finding.line - 1;
  std::string out = fmt::format(
      "{}: {} {}\n",
      painted(fmt::format("{}:{}:{}", harmless(checked.file), line, finding.column), Color::bold,
              colors),
      painted(fmt::format("{} {}:", violation ? "error" : "warning", finding.rule.text()), color,
              colors),
      harmless(finding.message));
  out += quoted_line(checked, finding, color, colors);
  if (!finding.hint.empty()) {
    out += fmt::format("  {} {}\n", painted("hint:", Color::blue, colors), harmless(finding.hint));
  }
  return out;
}

std::string counted(std::size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string all_findings(const Checked& checked, bool colors) {
  std::string out;
  for (const Finding& finding : checked.verdict.violations) {
    out += one_finding(checked, finding, true, colors);
  }
  for (const Finding& finding : checked.verdict.warnings) {
    out += one_finding(checked, finding, false, colors);
  }
  if (checked.verdict.truncated) {
    out += fmt::format("{}: there is more; only the first findings are listed\n",
                       harmless(checked.document));
  }
  return out;
}

}  // namespace

void Tally::add(const Checked& checked) {
  ++documents;
  if (!checked.valid()) ++refused;
  violations += checked.verdict.violations.size();
  warnings += checked.verdict.warnings.size();
}

std::string human_report(const Checked& checked, bool colors) {
  if (checked.trouble) {
    return fmt::format("{}: {} {}\n", painted(harmless(checked.document), Color::bold, colors),
                       painted("error:", Color::red, colors), harmless(*checked.trouble));
  }
  std::string out = all_findings(checked, colors);
  if (checked.valid()) {
    out +=
        fmt::format("{}: {} ({}{}{})\n", painted(harmless(checked.document), Color::bold, colors),
                    painted("ok", Color::green, colors), checked.contract,
                    checked.verdict.kind.empty() ? "" : ", ", checked.verdict.kind);
  }
  return out;
}

std::string human_summary(const Tally& tally, bool colors) {
  const std::string verdict =
      tally.refused == 0 ? painted("all valid", Color::green, colors)
                         : painted(fmt::format("{} refused", tally.refused), Color::red, colors);
  return fmt::format("{}: {}; {}, {}\n", counted(tally.documents, "document", "documents"), verdict,
                     counted(tally.violations, "violation", "violations"),
                     counted(tally.warnings, "warning", "warnings"));
}

std::string human_report(const contracts::ContinuationVerdict& verdict, const Checked& pending,
                         const Checked& submitted, bool colors) {
  std::string out = all_findings(pending, colors) + all_findings(submitted, colors);
  for (const contracts::Difference& difference : verdict.differences) {
    const auto place = [](const std::optional<std::size_t>& at) {
      return at ? std::to_string(*at) : std::string("nowhere");
    };
    out += fmt::format("  {} {}: expected at {}, got at {}\n", contracts::name_of(difference.kind),
                       harmless(difference.id), place(difference.expected_at),
                       place(difference.got_at));
  }
  out += verdict.valid()
             ? painted("the results match the calls\n", Color::green, colors)
             : painted("refused: nothing of it would be processed\n", Color::red, colors);
  return out;
}

}  // namespace treaty::cli
