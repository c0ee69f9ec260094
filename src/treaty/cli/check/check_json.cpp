// The report for programs: one verdict a line.
#include "treaty/base/json_write.h"
#include "treaty/base/text.h"
#include "treaty/cli/check/check_report.h"

namespace treaty::cli {
namespace {

using contracts::Finding;
using contracts::Findings;

void write_finding(json::Writer& writer, const Finding& finding, std::size_t first_line,
                   std::string_view document = {}) {
  writer.begin_object();
  writer.member("rule", finding.rule.text());
  writer.member("where", finding.where);
  writer.member("line", first_line + finding.line - 1);
  writer.member("column", finding.column);
  writer.member("message", finding.message);
  if (!finding.hint.empty()) writer.member("hint", finding.hint);
  if (finding.repaired) writer.member("repaired", true);
  if (!document.empty()) writer.member("document", document);
  writer.end_object();
}

void write_trouble(json::Writer& writer, std::string_view trouble) {
  writer.begin_object();
  writer.member("rule", kInput).member("where", "").member("message", trouble);
  writer.end_object();
}

}  // namespace

std::string json_report(const Checked& checked) {
  json::Writer writer;
  writer.begin_object();
  writer.member("document", is_utf8(checked.document) ? checked.document : "(not UTF-8)");
  writer.member("contract", checked.contract);
  writer.member("profile", checked.profile);
  writer.member("valid", checked.valid());
  if (!checked.verdict.kind.empty()) writer.member("kind", checked.verdict.kind);
  writer.name("violations").begin_array();
  if (checked.trouble) write_trouble(writer, *checked.trouble);
  for (const Finding& finding : checked.verdict.violations) {
    write_finding(writer, finding, checked.first_line);
  }
  writer.end_array().name("warnings").begin_array();
  for (const Finding& finding : checked.verdict.warnings) {
    write_finding(writer, finding, checked.first_line);
  }
  writer.end_array();
  if (checked.verdict.truncated) writer.member("truncated", true);
  return writer.end_object().take() + "\n";
}

std::string json_report(const contracts::ContinuationVerdict& verdict) {
  json::Writer writer;
  writer.begin_object().member("valid", verdict.valid());
  const auto write_both = [&](std::string_view name, Findings contracts::Verdict::* findings) {
    writer.name(name).begin_array();
    for (const Finding& finding : verdict.pending.*findings) {
      write_finding(writer, finding, 1, "pending");
    }
    for (const Finding& finding : verdict.submitted.*findings) {
      write_finding(writer, finding, 1, "submitted");
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
