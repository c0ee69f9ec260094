#include "treaty/contracts/text/stack_traces.h"

#include <algorithm>
#include <array>

#include "treaty/base/text.h"

namespace treaty::contracts {
namespace {

constexpr std::array<std::string_view, 9> kTellingPhrases = {
    "Traceback (most recent call last)",
    "Exception in thread \"",
    "panic: runtime error",
    "goroutine 1 [",
    "stack backtrace:",
    "' panicked at ",
    "node:internal/",
    "--- End of stack trace",
    "--- End of inner exception stack trace"};

constexpr std::array<std::string_view, 15> kSourceEndings = {
    ".java", ".kt", ".scala", ".cs", ".js", ".mjs", ".ts", ".py",
    ".go",   ".rb", ".php",   ".rs", ".c",  ".cpp", ".cc"};

bool is_name_character(char c) {
  return is_alphanumeric(c) || std::string_view("_.$<>[]`:+/").contains(c);
}

// Ends in `:12` or `:12:5` after a name with a dot or a slash, as a place in a source file does; a
// time of day has neither.
bool is_source_place(std::string_view text) {
  const std::size_t digits = text.size() - (text.find_last_not_of("0123456789") + 1);
  if (digits == 0 || digits >= text.size() || text[text.size() - digits - 1] != ':') return false;
  return !text.contains(' ') && (text.contains('.') || text.contains('/'));
}

// What follows the "at " of Java, C# and Node.
bool is_call_site(std::string_view site) {
  for (const std::string_view prefix : {"async ", "new "}) {
    if (site.starts_with(prefix)) site.remove_prefix(prefix.size());
  }
  const std::size_t open = site.find('(');
  if (open == std::string_view::npos) {
    return is_source_place(site);
  }
  const std::size_t close = site.find(')', open);
  if (close == std::string_view::npos) return false;
  if (is_source_place(site.substr(open + 1, close - open - 1))) return true;
  const std::string_view callee = site.substr(0, open);
  return callee.contains('.') && std::ranges::all_of(callee, is_name_character);
}

// `#3  0x00007f in run () at main.c:12`, with or without the address.
bool is_debugger_frame(std::string_view line) {
  if (!line.starts_with('#')) return false;
  const std::size_t digits = std::min(line.find_first_not_of("0123456789", 1), line.size()) - 1;
  if (digits == 0) return false;
  const std::string_view rest = trimmed(line.substr(1 + digits));
  return (rest.starts_with("0x") && rest.contains(" in ")) ||
         (rest.contains(" (") && rest.contains(") at ") &&
          is_source_place(rest.substr(rest.rfind(' ') + 1)));
}

bool is_go_routine(std::string_view line) {
  return line.starts_with("goroutine ") && line.contains(" [") && line.ends_with("]:");
}

bool is_trace_line(std::string_view line) {
  if (line.starts_with("at ")) return is_call_site(line.substr(3));
  if (line.starts_with("File \"") && line.contains("\", line ")) return true;
  return is_debugger_frame(line) || is_go_routine(line);
}

// The characters of the word that ends at `end`.
std::string_view word_before(std::string_view text, std::size_t end) {
  constexpr std::size_t kFarEnough = 256;
  std::size_t begin = end;
  while (begin > 0 && end - begin < kFarEnough && text[begin - 1] != ' ' &&
         text[begin - 1] != '\n') {
    --begin;
  }
  return text.substr(begin, end - begin);
}

// `(Worker.java:42)` or `main.go:12 +0x1d` anywhere but in a web link.
bool has_source_place(std::string_view text) {
  return std::ranges::any_of(kSourceEndings, [&](std::string_view ending) {
    for (std::size_t at = text.find(ending); at != std::string_view::npos;
         at = text.find(ending, at + 1)) {
      const std::size_t after = at + ending.size();
      if (at > 0 && is_letter(text[at - 1]) && after + 1 < text.size() && text[after] == ':' &&
          is_digit(text[after + 1]) && !word_before(text, at).contains("://")) {
        return true;
      }
    }
    return false;
  });
}

}  // namespace

bool has_stack_trace(std::string_view text) {
  for (const std::string_view phrase : kTellingPhrases) {
    if (text.contains(phrase)) return true;
  }
  if (has_source_place(text)) return true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (is_trace_line(trimmed(text.substr(0, end)))) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

}  // namespace treaty::contracts
