#include "treaty/cli/check/check_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "treaty/base/json_write.h"
#include "treaty/base/percent.h"
#include "treaty/base/text.h"
#include "treaty/cli/terminal.h"
#include "treaty/contracts/inspection/verdict_json.h"
#include "treaty/contracts/rules.h"

namespace treaty::cli {
namespace {

using contracts::Finding;
using contracts::Findings;

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

// The line with a caret under what is meant, cut to what fits. Looks at no more of the text than it
// shows: a line may be as long as the document.
std::string quoted_line(const Mark& mark, Color color, bool colors) {
  const std::string_view text = mark.text;
  const std::size_t offset = std::min(mark.offset, text.size());
  const bool cut = mark.column - 1 > kWidest - kLeading;
  const std::size_t begin = backward(text, offset, cut ? kLeading : mark.column - 1);
  const std::size_t end = forward(text, begin, kWidest);
  const bool whole = end == text.size() || text[end] == '\n';
  std::string_view shown = text.substr(begin, end - begin);
  if (whole && shown.ends_with('\r')) shown.remove_suffix(1);

  const std::size_t marked = std::min(offset + std::max<std::size_t>(1, mark.length), end);
  const std::size_t length =
      offset < marked ? count_characters(text.substr(offset, marked - offset)) : 1;
  const std::string marker = "^" + std::string(length > 1 ? length - 1 : 0, '~');
  const std::string number = std::to_string(mark.line);
  const std::size_t indent = count_characters(text.substr(begin, offset - begin)) + (cut ? 1 : 0);
  return fmt::format("  {} | {}{}{}\n  {} | {}{}{}\n", number, cut ? "…" : "", harmless(shown),
                     whole ? "" : "…", std::string(number.size(), ' '), std::string(indent, ' '),
                     painted(marker, color, colors),
                     mark.where.empty() ? "" : " " + harmless(mark.where));
}

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

// --- SARIF 2.1.0, for code scanning

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
  writer.name("rules").objects(used, [&](std::string_view id) {
    const contracts::Rule* rule = contracts::find_rule(id);
    writer.member("id", id).name("shortDescription").begin_object();
    writer.member("text", rule != nullptr ? rule->sentence : "A document can be read.");
    writer.end_object();
    if (rule != nullptr) {
      writer.name("properties").begin_object().member("source", rule->source).end_object();
    }
  });
}

}  // namespace

std::string finding_text(const FindingText& finding, const Mark& mark, bool colors) {
  const Color color = finding.is_violation ? Color::red : Color::yellow;
  std::string out = fmt::format(
      "{}: {} {}\n",
      painted(fmt::format("{}:{}:{}", harmless(finding.file), mark.line, mark.column), Color::bold,
              colors),
      painted(fmt::format("{} {}:", finding.is_violation ? "error" : "warning", finding.rule),
              color, colors),
      harmless(finding.message));
  out += quoted_line(mark, color, colors);
  if (!finding.hint.empty()) {
    out += fmt::format("  {} {}\n", painted("hint:", Color::blue, colors), harmless(finding.hint));
  }
  return out;
}

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
  return fmt::format("{}: {}; {}, {}\n", counted(tally.documents, "document"), verdict,
                     counted(tally.violations, "violation"), counted(tally.warnings, "warning"));
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
  writer.name("differences").objects(verdict.differences, [&](const auto& difference) {
    writer.member("kind", contracts::name_of(difference.kind)).member("id", difference.id);
    if (difference.expected_at) writer.member("expected_at", *difference.expected_at);
    if (difference.got_at) writer.member("got_at", *difference.got_at);
  });
  return writer.end_object().take() + "\n";
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
  writer.name("results").array(all, [&](const auto& one) { write_sarif_results(writer, one); });
  return writer.end_object().end_array().end_object().take() + "\n";
}

}  // namespace treaty::cli
