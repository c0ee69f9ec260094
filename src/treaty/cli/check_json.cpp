// The reports for programs: one verdict a line, and SARIF 2.1.0 for code scanning.
#include <fmt/format.h>

#include <set>

#include "treaty/base/json_write.h"
#include "treaty/base/text.h"
#include "treaty/cli/check_report.h"
#include "treaty/contracts/rules.h"

namespace treaty::cli {
namespace {

using contracts::Finding;
using contracts::Findings;

// The rule of a document that could not even be looked at.
constexpr std::string_view kInput = "INPUT";

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

// A path as a relative reference of RFC 3986.
std::string uri_of(std::string_view path) {
  std::string uri;
  for (const char c : path) {
    if (is_alphanumeric(c) || std::string_view("-._~/").contains(c)) {
      uri.push_back(c);
    } else {
      fmt::format_to(std::back_inserter(uri), "%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return uri;
}

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
    write_sarif_result(writer, checked, kInput, "error", *checked.trouble, nullptr);
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
    if (checked.trouble) used.insert(kInput);
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
