// The report for people.
#include "treaty/cli/check_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/text.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli {
namespace {

using contracts::Finding;

constexpr std::size_t kWidest = 96;   // Characters of a line that are shown.
constexpr std::size_t kLeading = 40;  // Of them, before the caret.

// Bytes to skip from `at` on to pass `count` characters. What is not UTF-8 counts byte by byte.
std::size_t skip_characters(std::string_view text, std::size_t at, std::size_t count) {
  for (; count > 0 && at < text.size(); --count) {
    at += std::max<std::size_t>(1, read_code_point(text.substr(at)).length);
  }
  return at;
}

std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) at = skip_characters(text, at, 1);
  return count;
}

// The line of the finding, cut to what fits, with a caret below.
std::string quoted_line(const Checked& checked, const Finding& finding, Color color, bool colors) {
  const std::string_view text = checked.text;
  const std::size_t offset = std::min(finding.offset, text.size());
  const std::size_t before = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  const std::size_t end = std::min(text.find('\n', offset), text.size());
  const std::size_t column = count_characters(text.substr(begin, offset - begin));

  const std::size_t cut = column > kWidest - kLeading ? column - kLeading : 0;
  const std::size_t shown_begin = skip_characters(text, begin, cut);
  const std::size_t shown_end = std::min(skip_characters(text, shown_begin, kWidest), end);
  const std::string_view left = cut > 0 ? "…" : "";
  const std::string_view right = shown_end < end ? "…" : "";
  const std::string shown = harmless(text.substr(shown_begin, shown_end - shown_begin));

  const std::size_t marked_end =
      std::min(offset + std::max<std::size_t>(1, finding.length), shown_end);
  const std::size_t length =
      offset < marked_end ? count_characters(text.substr(offset, marked_end - offset)) : 1;
  const std::string marker = "^" + std::string(length > 1 ? length - 1 : 0, '~');
  const std::string number = std::to_string(checked.first_line + finding.line - 1);
  const std::string margin(number.size(), ' ');
  return fmt::format("  {} | {}{}{}\n  {} | {}{}{}\n", number, left, shown, right, margin,
                     std::string(column - cut + (cut > 0 ? 1 : 0), ' '),
                     painted(marker, color, colors),
                     finding.where.empty() ? "" : " " + harmless(finding.where));
}

std::string one_finding(const Checked& checked, const Finding& finding, bool violation,
                        bool colors) {
  const Color color = violation ? Color::red : Color::yellow;
  std::string file = checked.document;
  // In NDJSON the document's name has the line already.
  const std::string line = std::to_string(checked.first_line + finding.line - 1);
  if (file.ends_with(":" + line)) file.resize(file.size() - line.size() - 1);
  std::string out = fmt::format(
      "{}: {} {}\n",
      painted(fmt::format("{}:{}:{}", harmless(file), line, finding.column), Color::bold, colors),
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
    out += fmt::format("{}: there is more; only the first findings are listed\n", checked.document);
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
