#include "treaty/base/diagnostic.h"

#include <fmt/format.h>

#include <charconv>

#include "treaty/base/json_write.h"

namespace treaty {

std::string text_of(const Diagnostic& diagnostic) {
  std::string out = diagnostic.where;
  if (diagnostic.line > 0) {
    out += fmt::format("{}{}:{}", out.empty() ? "" : ":", diagnostic.line, diagnostic.column);
  }
  out += fmt::format("{}{}", out.empty() ? "" : ": ", diagnostic.message);
  if (!diagnostic.hint.empty()) out += fmt::format(" ({})", diagnostic.hint);
  return out;
}

void write(json::Writer& writer, const Diagnostic& diagnostic) {
  writer.begin_object();
  if (!diagnostic.rule.empty()) writer.member("rule", diagnostic.rule);
  writer.member("where", diagnostic.where);
  if (diagnostic.line > 0) {
    writer.member("line", diagnostic.line).member("column", diagnostic.column);
  }
  writer.member("message", diagnostic.message);
  if (!diagnostic.hint.empty()) writer.member("hint", diagnostic.hint);
  writer.end_object();
}

Diagnostic diagnostic_of(const Error& error, std::string where) {
  Diagnostic diagnostic{
      .where = std::move(where), .line = 1, .column = 1, .message = error.message};
  const char* end = error.where.data() + error.where.size();
  const auto line = std::from_chars(error.where.data(), end, diagnostic.line);
  if (line.ptr != end) std::from_chars(line.ptr + 1, end, diagnostic.column);
  return diagnostic;
}

}  // namespace treaty
