#include "treaty/contracts/inspection/verdict_json.h"

#include "treaty/base/text.h"

namespace treaty::contracts {
namespace {

void write_trouble(json::Writer& writer, std::string_view trouble) {
  writer.begin_object();
  writer.member("rule", kInput).member("where", "").member("message", trouble);
  writer.end_object();
}

}  // namespace

void write_finding(json::Writer& writer, const Finding& finding, std::size_t first_line,
                   std::string_view document) {
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

std::string verdict_json(const CheckedDocument& checked) {
  const Verdict& verdict = checked.verdict;
  json::Writer writer;
  writer.begin_object();
  writer.member("document", is_utf8(checked.document) ? checked.document : "(not UTF-8)");
  writer.member("contract", checked.contract);
  writer.member("profile", checked.profile);
  writer.member("valid", verdict.valid() && !checked.trouble);
  if (!verdict.kind.empty()) writer.member("kind", verdict.kind);
  writer.name("violations").begin_array();
  if (checked.trouble) write_trouble(writer, *checked.trouble);
  for (const Finding& finding : verdict.violations) {
    write_finding(writer, finding, checked.first_line);
  }
  writer.end_array().name("warnings").array(verdict.warnings, [&](const Finding& finding) {
    write_finding(writer, finding, checked.first_line);
  });
  if (verdict.truncated) writer.member("truncated", true);
  return writer.end_object().take() + "\n";
}

}  // namespace treaty::contracts
