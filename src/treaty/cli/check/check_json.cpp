// The report for programs: one verdict a line.
#include "treaty/base/json_write.h"
#include "treaty/cli/check/check_report.h"
#include "treaty/contracts/inspection/verdict_json.h"

namespace treaty::cli {

using contracts::Finding;
using contracts::Findings;

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
  const auto write_both = [&](std::string_view name, Findings contracts::Verdict::* findings) {
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
