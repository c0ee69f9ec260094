#include "treaty/base/json_write.h"

#include <fmt/format.h>

#include <cmath>

#include "treaty/base/json/scan.h"

namespace treaty::json {

namespace {

void append_escaped(std::string& out, char c) {
  switch (c) {
    case '"': out += "\\\""; break;
    case '\\': out += "\\\\"; break;
    case '\n': out += "\\n"; break;
    case '\r': out += "\\r"; break;
    case '\t': out += "\\t"; break;
    default: fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
  }
}

}  // namespace

void append_quoted(std::string& out, std::string_view text) {
  out.push_back('"');
  const char* const end = text.data() + text.size();
  const char* copied = text.data();
  for (const char* at = copied; (at += plain_run(at, end)) != end; ++at) {
    if (static_cast<unsigned char>(*at) >= 0x20 && *at != '"' && *at != '\\') continue;
    out.append(copied, at);
    append_escaped(out, *at);
    copied = at + 1;
  }
  out.append(copied, end);
  out.push_back('"');
}

std::string decimal_text(double value) {
  if (!std::isfinite(value)) return "null";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

Writer& Writer::name(std::string_view name) {
  separate();
  append_quoted(out_, name);
  out_ += layout_ == Layout::indented ? ": " : ":";
  after_name_ = true;
  return *this;
}

Writer& Writer::value(std::string_view text) {
  separate();
  append_quoted(out_, text);
  return *this;
}

Writer& Writer::raw(std::string_view json) {
  separate();
  out_ += json;
  return *this;
}

Writer& Writer::open(char bracket) {
  separate();
  out_.push_back(bracket);
  ++depth_;
  return *this;
}

Writer& Writer::close(char bracket) {
  const bool is_empty = is_just_opened();
  --depth_;
  if (!is_empty) break_line();
  out_.push_back(bracket);
  return *this;
}

// No value ends with an opening bracket: the last character tells.
bool Writer::is_just_opened() const { return out_.back() == '{' || out_.back() == '['; }

// Before every name and every value that is not a member's.
void Writer::separate() {
  if (after_name_) {
    after_name_ = false;
    return;
  }
  if (depth_ == 0) return;
  if (!is_just_opened()) out_.push_back(',');
  break_line();
}

void Writer::break_line() {
  if (layout_ == Layout::compact) return;
  out_.push_back('\n');
  out_.append(depth_ * 2, ' ');
}

}  // namespace treaty::json
