#include "treaty/contracts/text/leaks.h"

#include <algorithm>
#include <array>
#include <functional>

#include "treaty/base/secrets.h"
#include "treaty/base/text.h"
#include "treaty/contracts/text/shapes.h"

namespace treaty::contracts {
namespace {

// --- Stack traces of Python, Java, C#, Node, Go, Rust and gdb, by their shapes ----------------

constexpr std::array<std::string_view, 16> kTellingPhrases = {
    "Traceback (most recent call last)",
    "Exception in thread \"",
    "panic: runtime error",
    "stack backtrace:",
    "' panicked at ",
    "RUST_BACKTRACE",
    "node:internal/",
    "webpack-internal:",
    "--- End of stack trace",
    "--- End of inner exception stack trace",
    "Stack trace:",
    "received signal SIG",
    "(core dumped)",
    "terminate called after throwing",
    "AddressSanitizer",
    "PHP Fatal error:"};

constexpr std::array<std::string_view, 28> kSourceEndings = {
    ".java", ".kt",  ".scala", ".cs",  ".js",   ".mjs", ".cjs",   ".jsx", ".ts", ".tsx",
    ".py",   ".go",  ".rb",    ".php", ".rs",   ".c",   ".cpp",   ".cc",  ".h",  ".hpp",
    ".ex",   ".exs", ".erl",   ".lua", ".dart", ".pl",  ".swift", ".sh"};
// Besides, what a path may end in to be one of a program.
constexpr std::array<std::string_view, 8> kProgramEndings = {".log", ".sqlite", ".sqlite3", ".db",
                                                             ".sql", ".so",     ".dll",     ".jar"};

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
  if (site.starts_with("<anonymous>")) return true;
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

bool is_trace_line(std::string_view line) {
  if (line.starts_with("at ")) return is_call_site(line.substr(3));
  return is_debugger_frame(line) || line.starts_with("panic: ");
}

bool is_source_ending(std::string_view ending) {
  return std::ranges::find(kSourceEndings, ending) != kSourceEndings.end();
}

// Frames that need not begin a line: those of Python, Java, C#, Go and C.
constexpr std::string_view kFrameShapes[] = {
    "<File \"*\", line #",
    "<goroutine # \\[",
    "<at @.@.@(.@|.@.@|.@.@.@|.@.@.@.@|)\\(",
    "+0x@",
};
constexpr std::size_t kPythonFrame = 0;

// Documents of people have lines, too. Here the file is one of a program or a place such as
// `<stdin>`, or the name of a function ends the line: `File "worker", line 3, in run`.
bool is_python_frame(std::string_view text, const ShapeSet::Match& frame) {
  constexpr std::size_t kLongest = 128;
  constexpr std::string_view kFunction = ", in ";
  const std::string_view matched = text.substr(frame.begin, frame.end - frame.begin);
  const std::size_t begin = matched.find('"') + 1;
  const std::string_view file = matched.substr(begin, matched.rfind('"') - begin);
  const std::size_t dot = std::min(file.rfind('.'), file.size());
  if (file.starts_with('<') || is_source_ending(file.substr(dot))) return true;
  std::string_view rest = text.substr(frame.end, kLongest);
  rest = rest.substr(0, rest.find('\n'));
  return rest.starts_with(kFunction) && !rest.substr(kFunction.size()).contains(' ') &&
         (is_word_character(rest.back()) || rest.back() == '>');
}

bool has_frame(std::string_view text) {
  static const ShapeSet kFrames(kFrameShapes);
  for (auto frame = kFrames.find(text); frame; frame = kFrames.find(text, frame->end)) {
    if (frame->shape != kPythonFrame || is_python_frame(text, *frame)) return true;
  }
  return false;
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

// `:42`, `:line 42`, `(42)`, `, line 42`, ` on line 42`, after the name of a file.
bool is_line_number(std::string_view text, std::size_t at) {
  static constexpr std::string_view kShape[] = {":#", ":line #", "\\(#\\)", "(,|) line #",
                                                " on line #"};
  static const ShapeSet kLineNumbers(kShape);
  if (at >= text.size() || !std::string_view(":(, ").contains(text[at])) return false;
  return kLineNumbers.begins(text.substr(at));
}

// Calls `test` with each place of a dot and the ending after it, `.py`, until it is true of one.
template <class Test>
bool any_ending(std::string_view text, Test test) {
  constexpr std::size_t kLongest = 9;
  for (std::size_t at = text.find('.'); at != std::string_view::npos; at = text.find('.', at + 1)) {
    const std::size_t size = run_length(text, at + 1, is_word_character, kLongest);
    if (size > 0 && test(at, text.substr(at, size + 1))) return true;
  }
  return false;
}

// Calls `test` with each name of a source file and what follows it, the number of a line, until it
// is true of one. Web links have none.
template <class Test>
bool any_source_place(std::string_view text, Test test) {
  return any_ending(text, [&](std::size_t at, std::string_view ending) {
    const std::size_t after = at + ending.size();
    if (!is_line_number(text, after) || !is_source_ending(ending)) return false;
    const std::string_view word = word_before(text, at);
    if (word.empty() || !is_word_character(word.back()) || word.contains("://")) return false;
    // Of `Section 4.c:2` nothing but the letter after the dot looks like a file.
    return std::ranges::any_of(word, is_letter) && test(word, text.substr(after));
  });
}

// `src/plan.py line 3`: people name a line of a file so, and no stack trace has this form.
bool is_path_and_line(std::string_view word, std::string_view rest) {
  return word.find_first_of("/\\") != std::string_view::npos && rest.starts_with(' ') &&
         !rest.starts_with(" on ");
}

// `(Worker.java:42)` or `main.go:12 +0x1d`.
bool has_source_place(std::string_view text) {
  return any_source_place(text, std::not_fn(is_path_and_line));
}

bool has_stack_trace(std::string_view text) {
  for (const std::string_view phrase : kTellingPhrases) {
    if (text.contains(phrase)) return true;
  }
  if (has_source_place(text) || has_frame(text)) return true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (is_trace_line(trimmed(text.substr(0, end)))) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// --- File paths -----------------------------------------------------------------------------

constexpr std::array<std::string_view, 26> kRoots = {
    "home", "root", "srv",  "var",   "etc",     "usr",     "opt",     "app",      "tmp",
    "proc", "sys",  "dev",  "mnt",   "boot",    "bin",     "sbin",    "lib",      "lib64",
    "run",  "nix",  "snap", "Users", "private", "Volumes", "Library", "workspace"};

// Something below a known root. A slash that continues a word, a link or another path is no root.
bool is_posix_path(std::string_view text, std::size_t at) {
  if (at > 0 &&
      (is_word_character(text[at - 1]) || std::string_view("/.~-").contains(text[at - 1]))) {
    return false;
  }
  const std::size_t size = run_length(text, at + 1, is_word_character);
  const std::size_t below = at + 1 + size;
  if (below + 1 >= text.size() || text[below] != '/') return false;
  const char next = text[below + 1];
  return (is_word_character(next) || next == '.' || next == '-') &&
         std::ranges::find(kRoots, text.substr(at + 1, size)) != kRoots.end();
}

bool is_drive_path(std::string_view text, std::size_t at) {
  if (at == 0 || !is_letter(text[at - 1]) || !begins_word(text, at - 1)) return false;
  if (at + 1 >= text.size()) return false;
  if (text[at + 1] == '\\') return at + 2 < text.size() && !is_space(text[at + 2]);
  // With a slash it may be prose; a name of one letter is none.
  return text[at + 1] == '/' && run_length(text, at + 2, is_word_character, 2) == 2;
}

bool is_network_share(std::string_view text, std::size_t at) {
  if (!text.substr(at).starts_with("\\\\")) return false;
  const std::size_t host =
      run_length(text, at + 2, [](char c) { return is_word_character(c) || c == '.' || c == '-'; });
  const std::size_t share = at + 2 + host;
  return host > 0 && share + 1 < text.size() && text[share] == '\\' &&
         is_word_character(text[share + 1]);
}

bool has_file_path(std::string_view text) {
  bool in_link = false;  // Paths inside a web link are not of this machine.
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (is_space(text[at])) in_link = false;
    if (text[at] == '/' && !in_link && is_posix_path(text, at)) return true;
    if (text[at] == '\\' && is_network_share(text, at)) return true;
    if (text[at] != ':') continue;
    if (is_drive_path(text, at)) return true;
    in_link = in_link || text.substr(at).starts_with("://");
  }
  static constexpr std::string_view kHome[] = {"<~/(.|)@", "<$HOME/", "%(appdata|userprofile)%"};
  static const ShapeSet kHomes(kHome);
  return kHomes.is_in(text) || text.contains("file:///");
}

// --- Environment ----------------------------------------------------------------------------

// Whole words of a name, as underscores part them.
constexpr std::array<std::string_view, 26> kSecretWords = {
    "KEY",         "KEYS",          "APIKEY", "TOKEN",      "TOKENS",  "SECRET", "SECRETS",
    "PASS",        "PASSWD",        "PWD",    "PASSPHRASE", "PRIVATE", "AUTH",   "CREDENTIAL",
    "CREDENTIALS", "AUTHORIZATION", "DSN",    "URL",        "URI",     "CONN",   "CONNECTION",
    "SALT",        "COOKIE",        "CERT",   "SIGNATURE",  "BEARER"};
constexpr std::size_t kLongValue = 16;

bool names_secret(std::string_view name) {
  if (name.ends_with("PASSWORD") || name.ends_with("SECRET") || name.ends_with("TOKEN"))
    return true;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('_'), name.size());
    if (std::ranges::find(kSecretWords, name.substr(0, end)) != kSecretWords.end()) return true;
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return false;
}

// KEY=value, where the name has a word that smells of a secret or the value is long.
bool has_environment_line(std::string_view text) {
  for (std::size_t equals = text.find('='); equals != std::string_view::npos;
       equals = text.find('=', equals + 1)) {
    std::size_t begin = equals;
    const auto in_name = [](char c) { return is_upper(c) || is_digit(c) || c == '_'; };
    while (begin > 0 && in_name(text[begin - 1])) --begin;
    const std::string_view name = text.substr(begin, equals - begin);
    if (name.size() < 2 || !is_upper(name[0]) || !begins_word(text, begin)) continue;
    const std::size_t value = run_length(text, equals + 1, [](char c) { return !is_space(c); });
    if (value == 0) continue;
    if (value >= kLongValue || names_secret(name)) return true;
  }
  return false;
}

// `password=x`, `api_key: x`: what connection strings, queries and headers call a secret, in any
// case. A word that prose uses, too, counts only before `=` and with a longer value.
struct SecretName {
  std::string_view name;
  std::size_t least;  // Characters of the value.
};
constexpr SecretName kSecretNames[] = {
    {"password", 1},   {"passwd", 1},       {"pwd", 1},        {"api_key", 6},
    {"apikey", 6},     {"api-key", 6},      {"access_key", 6}, {"accesskey", 6},
    {"accountkey", 6}, {"access_token", 8}, {"secret", 8},     {"token", 8},
};

bool is_named_secret(std::string_view text, std::size_t sign) {
  std::size_t value = sign + 1;
  if (text[sign] == ':' && value < text.size() && text[value] == ' ') ++value;
  return std::ranges::any_of(kSecretNames, [&](const SecretName& secret) {
    const bool header = secret.name.ends_with("key");
    if (sign < secret.name.size() || (text[sign] == ':' && !header)) return false;
    const std::size_t begin = sign - secret.name.size();
    if (!begins_word(text, begin) || !equal_folded(text.substr(begin, sign - begin), secret.name)) {
      return false;
    }
    return run_length(text, value, [](char c) { return !is_space(c); }) >= secret.least;
  });
}

bool has_named_secret(std::string_view text) {
  for (std::size_t at = text.find_first_of("=:"); at != std::string_view::npos;
       at = text.find_first_of("=:", at + 1)) {
    if (is_named_secret(text, at)) return true;
  }
  return false;
}

// --- Addresses with credentials --------------------------------------------------------------

constexpr std::array<std::string_view, 18> kDataSources = {
    "postgres", "postgresql", "mysql",  "mariadb", "mongodb", "mongodb+srv",
    "redis",    "rediss",     "amqp",   "amqps",   "mssql",   "sqlserver",
    "oracle",   "clickhouse", "sqlite", "kafka",   "nats",    "ldap"};

bool is_revealing_address(std::string_view text, std::size_t colon) {
  std::size_t begin = colon;
  while (begin > 0 && (is_alphanumeric(text[begin - 1]) || text[begin - 1] == '+')) --begin;
  const std::string_view scheme = text.substr(begin, colon - begin);
  if (scheme.empty()) return false;
  const bool data_source =
      std::ranges::any_of(kDataSources, [&](auto other) { return equal_folded(scheme, other); });
  const std::size_t authority = colon + 3;
  const std::size_t size = run_length(
      text, authority,
      [](char c) { return !is_space(c) && !std::string_view("/?#\"'<>)").contains(c); },
      text.size());
  if (data_source) return size > 0 || text.substr(authority).starts_with("/");
  const std::string_view host = text.substr(authority, size);
  const std::string_view user = host.substr(0, std::min(host.find('@'), host.size()));
  if (user.size() == host.size()) return false;
  // A name alone is none; a key in its place, as error trackers have it, is.
  return user.contains(':') || looks_random(user);
}

bool has_revealing_address(std::string_view text) {
  for (std::size_t at = text.find("://"); at != std::string_view::npos;
       at = text.find("://", at + 1)) {
    if (is_revealing_address(text, at)) return true;
  }
  return false;
}

std::string_view find_visible_leak(std::string_view text) {
  if (has_stack_trace(text)) return "a stack trace";
  if (find_secret(text)) return "a key or token";
  if (has_revealing_address(text)) return "an address with credentials or of a data source";
  if (has_named_secret(text)) return "a password or key";
  if (has_environment_line(text)) return "an environment variable";
  if (has_file_path(text)) return "a file path";
  if (any_source_place(text, is_path_and_line)) return "a source file";
  return {};
}

// Characters of a path, from its last one at `end` back.
std::string_view path_before(std::string_view text, std::size_t end) {
  constexpr std::size_t kLongest = 128;
  std::size_t begin = end;
  while (begin > 0 && end - begin < kLongest &&
         (is_word_character(text[begin - 1]) ||
          std::string_view("/\\.-@~").contains(text[begin - 1]))) {
    --begin;
  }
  return text.substr(begin, end - begin);
}

// `src/core/plan` before `.py`. A name with a dot is no directory but the host of a link without
// its scheme, or a library: `Node.js/React.js`.
bool is_source_directory(std::string_view path, std::string_view ending) {
  const std::size_t slash = path.find_last_of("/\\");
  if (slash == std::string_view::npos || slash + 1 == path.size()) return false;
  const std::string_view stem = path.substr(slash + 1);
  if (ending == ".js" && path.find_first_of("/\\") == slash) {
    constexpr std::array<std::string_view, 14> kLibraries = {
        "node", "vue",   "react", "next",  "nuxt",  "express",  "angular",
        "nest", "three", "d3",    "ember", "chart", "backbone", "alpine"};
    if (std::ranges::any_of(kLibraries, [&](auto one) { return equal_folded(stem, one); })) {
      return false;
    }
  }
  std::string_view directory = path.substr(0, slash);
  while (directory.starts_with("./") || directory.starts_with("../")) {
    directory.remove_prefix(directory.find('/') + 1);
  }
  return directory == "." || directory == ".." ||
         (std::ranges::any_of(directory, is_letter) && !directory.contains('.'));
}

}  // namespace

bool has_source_path(std::string_view text) {
  return any_ending(text, [&](std::size_t at, std::string_view ending) {
    const bool program = is_source_ending(ending) ||
                         std::ranges::find(kProgramEndings, ending) != kProgramEndings.end();
    const std::size_t after = at + ending.size();
    const bool goes_on = after < text.size() && (text[after] == '/' || text[after] == '-');
    return program && !goes_on && is_source_directory(path_before(text, at), ending);
  });
}

std::string plain_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint next = read_code_point(text);
    const std::size_t length = std::max<std::size_t>(1, next.length);
    switch (next.value) {
      case 0xAD:  // Nobody sees these.
      case 0x200B:
      case 0x200C:
      case 0x200D:
      case 0x2060:
      case 0xFEFF: break;
      case 0xA0:
      case 0x2009:
      case 0x202F: out.push_back(' '); break;
      case 0x2010:
      case 0x2011: out.push_back('-'); break;
      case 0x2018:
      case 0x2019: out.push_back('\''); break;
      case 0x201C:
      case 0x201D: out.push_back('"'); break;
      default: out.append(text.substr(0, length)); break;
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string_view find_leak(std::string_view text) {
  // What plain_text() changes begins with one of these three bytes.
  const bool suspicious =
      std::ranges::any_of(text, [](char c) { return c == '\xC2' || c == '\xE2' || c == '\xEF'; });
  return find_visible_leak(suspicious ? plain_text(text) : text);
}

}  // namespace treaty::contracts
