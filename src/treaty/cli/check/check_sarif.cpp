// The report for code scanning: SARIF 2.1.0.
#include <fmt/format.h>

#include <set>

#include "treaty/base/json_write.h"
#include "treaty/base/percent.h"
#include "treaty/base/text.h"
#include "treaty/cli/check/check_report.h"
#include "treaty/contracts/inspection/verdict_json.h"
#include "treaty/contracts/rules.h"

namespace treaty::cli {
namespace {

using contracts::Finding;
using contracts::Findings;

// A path as a relative reference of RFC 3986.
std::string uri_of(std::string_view path) { return percent_encoded(path, "-._~/"); }

void write_sarif_result(json::Writer& writer, const Checked& checked, std::string_view rule,
                        std::string_view level, std::string_view message, const Finding* finding) {
  writer.begin_object();
  writer.member("ruleId", rule).member("level", level);
  writer.name("message").begin_object().member("text", message).end_object();
  writer.name("locations").begin_array().begin_object();
  writer.name("physicalLocation").begin_object();
  writer.name("artifactLocation").begin_object().member("uri", uri_of(checked.file)).end_object();
  if (finding != nullptr) {
    writer.name("region").begin_object();
    writer.member("startLine", checked.first_line + finding->line - 1);
    writer.member("startColumn", finding->column);
    writer.end_object();
  }
  writer.end_object();
  if (finding != nullptr && !finding->where.empty()) {
    writer.name("logicalLocations").begin_array().begin_object();
    writer.member("fullyQualifiedName", finding->where).member("kind", "member");
    writer.end_object().end_array();
  }
  writer.end_object().end_array().end_object();
}

void write_sarif_results(json::Writer& writer, const Checked& checked) {
  if (checked.trouble) {
    write_sarif_result(writer, checked, contracts::kInput, "error", *checked.trouble, nullptr);
    return;
  }
  const auto write_all = [&](const Findings& findings, std::string_view level) {
    for (const Finding& finding : findings) {
      const std::string hint = finding.hint.empty() ? "" : "; hint: " + finding.hint;
      write_sarif_result(writer, checked, finding.rule.text(), level, finding.message + hint,
                         &finding);
    }
  };
  write_all(checked.verdict.violations, "error");
  write_all(checked.verdict.warnings, "warning");
}

void write_sarif_rules(json::Writer& writer, const std::vector<Checked>& all) {
  std::set<std::string_view> used;
  for (const Checked& checked : all) {
    if (checked.trouble) used.insert(contracts::kInput);
    for (const Finding& finding : checked.verdict.violations) used.insert(finding.rule.text());
    for (const Finding& finding : checked.verdict.warnings) used.insert(finding.rule.text());
  }
  writer.name("rules").begin_array();
  for (const std::string_view id : used) {
    const contracts::Rule* rule = contracts::find_rule(id);
    writer.begin_object().member("id", id);
    writer.name("shortDescription").begin_object();
    writer.member("text", rule != nullptr ? rule->sentence : "A document can be read.");
    writer.end_object();
    if (rule != nullptr) {
      writer.name("properties").begin_object().member("source", rule->source).end_object();
    }
    writer.end_object();
  }
  writer.end_array();
}

}  // namespace

std::string sarif_report(const std::vector<Checked>& all) {
  json::Writer writer(json::Layout::indented);
  writer.begin_object();
  writer.member("$schema", "https://json.schemastore.org/sarif-2.1.0.json");
  writer.member("version", "2.1.0");
  writer.name("runs").begin_array().begin_object();
  writer.name("tool").begin_object().name("driver").begin_object();
  writer.member("name", "treaty").member("version", TREATY_VERSION);
  write_sarif_rules(writer, all);
  writer.end_object().end_object();
  writer.member("columnKind", "unicodeCodePoints");
  writer.name("results").begin_array();
  for (const Checked& checked : all) write_sarif_results(writer, checked);
  writer.end_array();
  return writer.end_object().end_array().end_object().take() + "\n";
}

}  // namespace treaty::cli
