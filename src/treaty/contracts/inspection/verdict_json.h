// A verdict for programs: one JSON object, the same from the command line and from the server.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "treaty/base/json_write.h"
#include "treaty/contracts/decoded.h"

namespace treaty::contracts {

// The rule of a document that could not even be looked at, where every finding has one.
inline constexpr std::string_view kInput = "INPUT";

// A document that was checked, and how.
struct CheckedDocument {
  std::string_view document;  // What it is called.
  std::string_view contract;
  std::string_view profile;
  const Verdict& verdict;
  std::optional<std::string_view> trouble{};  // Why there is no verdict.
  std::size_t first_line = 1;                 // Of the text in its file.
};

// On one line, which ends with a line break.
std::string verdict_json(const CheckedDocument& checked);

// `document` says in which of two documents the finding is; empty when there is one.
void write_finding(json::Writer& writer, const Finding& finding, std::size_t first_line,
                   std::string_view document = {});

}  // namespace treaty::contracts
