#include "treaty/base/json_write.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
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

// Nothing in it needs an escape: one step, because almost every name and most texts are of this
// kind.
void append_plain(std::string& out, std::string_view text) {
  const std::size_t before = out.size();
  const std::size_t after = before + text.size() + 2;
  // The size that libstdc++ 12 passes on is too large when the text has to grow.
  out.resize_and_overwrite(after, [&](char* bytes, std::size_t) {
    bytes[before] = '"';
    text.copy(bytes + before + 1, text.size());
    bytes[after - 1] = '"';
    return after;
  });
}

}  // namespace

void append_quoted(std::string& out, std::string_view text) {
  const char* const end = text.data() + text.size();
  const char* copied = text.data();
  const std::size_t plain = plain_run(copied, end);
  if (plain == text.size()) return append_plain(out, text);
  out.push_back('"');
  for (const char* at = copied + plain; at != end; at += 1 + plain_run(at + 1, end)) {
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
  out_.push_back(':');
  if (layout_ == Layout::indented) out_.push_back(' ');
  after_name_ = true;
  return *this;
}

Writer& Writer::value(std::string_view text) {
  separate();
  append_quoted(out_, text);
  return *this;
}

Writer& Writer::whole(std::uint64_t magnitude, bool is_negative) {
  std::array<char, 21> digits{'-'};  // As long as the longest, and its sign.
  const auto* const end = std::to_chars(digits.begin() + 1, digits.end(), magnitude).ptr;
  return raw({digits.begin() + (is_negative ? 0 : 1), end});
}

Writer& Writer::raw(std::string_view json) {
  separate();
  out_.append(json.data(), json.size());
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
  if (!is_empty && layout_ == Layout::indented) break_line();
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
  if (layout_ == Layout::indented) break_line();
}

void Writer::break_line() {
  out_.push_back('\n');
  out_.append(depth_ * 2, ' ');
}

}  // namespace treaty::json
