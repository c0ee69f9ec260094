// How the verdicts of `treaty check` are written: for people, for programs, and as SARIF.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/contracts/continuation.h"
#include "treaty/contracts/decoded.h"

namespace treaty::cli {

// One document that was checked, or could not be.
struct Checked {
  std::string file;
  std::string document;  // What it is called: the file, or FILE:LINE in NDJSON.
  std::string contract;
  std::string profile;
  std::string text{};          // What was checked, for quoting lines.
  std::size_t first_line = 1;  // Of the text in its file.
  contracts::Verdict verdict{};
  std::optional<std::string> trouble{};  // Why there is no verdict.

  bool valid() const { return !trouble && verdict.valid(); }
};

struct CheckTally {
  std::size_t documents = 0;
  std::size_t refused = 0;
  std::size_t violations = 0;
  std::size_t warnings = 0;

  void add(const Checked& checked);
};

// A place in a document.
struct Mark {
  std::string_view text;   // The whole document.
  std::size_t offset;      // What is meant begins there, in bytes,
  std::size_t length;      // and has as many; at least one is marked.
  std::size_t line;        // As it is told; from 1.
  std::size_t column;      // In characters, from 1.
  std::string_view where;  // A JSON pointer, written beside the caret.
};

// A finding as people read it: place, rule and message, then the quoted line, then the hint.
struct FindingText {
  std::string_view file;
  std::string_view rule;
  std::string_view message;
  std::string_view hint;
  bool is_violation;
};
std::string finding_text(const FindingText& finding, const Mark& mark, bool colors);

// Like a compiler's: place, rule, message, the line with a caret, the hint.
std::string human_report(const Checked& checked, bool colors);
std::string human_summary(const CheckTally& tally, bool colors);

// One JSON object on one line.
std::string json_report(const Checked& checked);

std::string sarif_report(const std::vector<Checked>& all);

std::string human_report(const contracts::ContinuationVerdict& verdict, const Checked& pending,
                         const Checked& submitted, bool colors);
std::string json_report(const contracts::ContinuationVerdict& verdict);

}  // namespace treaty::cli
