// The reports for people and, one verdict a line, for programs.
#include "treaty/cli/check/check_report.h"

#include <fmt/format.h>

#include "treaty/base/json_write.h"
#include "treaty/cli/check/quoted_line.h"
#include "treaty/cli/terminal.h"
#include "treaty/contracts/inspection/verdict_json.h"

namespace treaty::cli {
namespace {

using contracts::Finding;

std::string one_finding(const Checked& checked, const Finding& finding, bool is_violation,
                        bool colors) {
  return finding_text({.file = checked.file,
                       .rule = finding.rule.text(),
                       .message = finding.message,
                       .hint = finding.hint,
                       .is_violation = is_violation},
                      {.text = checked.text,
                       .offset = finding.offset,
                       .length = finding.length,
                       .line = checked.first_line + finding.line - 1,
                       .column = finding.column,
                       .where = finding.where},
                      colors);
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

void CheckTally::add(const Checked& checked) {
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

std::string human_summary(const CheckTally& tally, bool colors) {
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

std::string json_report(const Checked& checked) {
  return contracts::verdict_json({.document = checked.document,
                                  .contract = checked.contract,
                                  .profile = checked.profile,
                                  .verdict = checked.verdict,
                                  .trouble = checked.trouble,
                                  .first_line = checked.first_line});
}

std::string json_report(const contracts::ContinuationVerdict& verdict) {
  json::Writer writer;
  writer.begin_object().member("valid", verdict.valid());
  const auto write_both = [&](std::string_view name,
                              contracts::Findings contracts::Verdict::* findings) {
    writer.name(name).begin_array();
    for (const Finding& finding : verdict.pending.*findings) {
      contracts::write_finding(writer, finding, 1, "pending");
    }
    for (const Finding& finding : verdict.submitted.*findings) {
      contracts::write_finding(writer, finding, 1, "submitted");
    }
    writer.end_array();
  };
  write_both("violations", &contracts::Verdict::violations);
  write_both("warnings", &contracts::Verdict::warnings);
  writer.name("differences").begin_array();
  for (const contracts::Difference& difference : verdict.differences) {
    writer.begin_object().member("kind", contracts::name_of(difference.kind));
    writer.member("id", difference.id);
    if (difference.expected_at) writer.member("expected_at", *difference.expected_at);
    if (difference.got_at) writer.member("got_at", *difference.got_at);
    writer.end_object();
  }
  return writer.end_array().end_object().take() + "\n";
}

}  // namespace treaty::cli
