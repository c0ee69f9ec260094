#include "treaty/cli/terminal.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "treaty/base/text.h"

namespace treaty::cli {
namespace {

int code_of(Color color) {
  switch (color) {
    case Color::plain: return 0;
    case Color::bold: return 1;
    case Color::red: return 31;
    case Color::yellow: return 33;
    case Color::green: return 32;
    case Color::blue: return 34;
  }
  return 0;
}

// Characters that turn the direction of text or break its lines.
bool is_unruly(char32_t c) {
  return c == 0x061C || c == 0x200E || c == 0x200F || c == 0x2028 || c == 0x2029 ||
         (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

// Carriage returns are dropped where lines are kept: they would write over what stands there.
std::string tamed(std::string_view text, bool keep_lines) {
  std::string out;
  while (!text.empty()) {
    const CodePoint next = read_code_point(text);
    if (next.length == 0) {
      out.push_back('?');
      text.remove_prefix(1);
      continue;
    }
    const std::string_view character = text.substr(0, next.length);
    const bool shapes_lines = keep_lines && (character == "\t" || character == "\n");
    if (shapes_lines || (!has_control_character(character) && !is_unruly(next.value))) {
      out.append(character);
    } else if (character == "\t") {
      out.push_back(' ');
    } else if (!keep_lines || character != "\r") {
      out.push_back('?');
    }
    text.remove_prefix(next.length);
  }
  return out;
}

}  // namespace

void print_document(std::string_view text) {
  std::string tame;
  if (isatty(STDOUT_FILENO) == 1) text = tame = harmless_lines(text);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void print_json(const json::ObjectText& object) { print_document(object.text() + "\n"); }

bool stdout_has_colors() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (no_color != nullptr && *no_color != '\0') return false;
  return isatty(STDOUT_FILENO) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

std::string painted(std::string_view text, Color color, bool colors) {
  if (!colors) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code_of(color), text);
}

std::string shell_word(std::string_view text) {
  const auto is_plain = [](char c) {
    return is_word_character(c) || std::string_view("/.-:@%+,").contains(c);
  };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return std::string(text);
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_word(word);
  return line;
}

std::string counted(std::size_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string harmless(std::string_view text) { return tamed(text, false); }

std::string harmless_lines(std::string_view text) { return tamed(text, true); }

std::string text_of(const Error& error) {
  const std::string place = error.where.empty() ? "" : harmless(error.where) + ": ";
  return place + harmless(error.message);
}

std::string table_text(const TableRows& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      out += fmt::format("{:<{}}  ", row[i], widths[i]);
    }
    out += row.back() + "\n";
  }
  return out;
}

void TextOutput::write(std::string_view text) {
  if (text.empty()) return;
  print_document(text);
  std::fflush(stdout);
  written_ = true;
  line_open_ = !text.ends_with('\n');
}

void TextOutput::end_line() {
  if (line_open_) print("\n");
  std::fflush(stdout);
  line_open_ = false;
}

}  // namespace treaty::cli
