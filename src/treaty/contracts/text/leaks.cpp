#include "treaty/contracts/text/leaks.h"

#include <algorithm>
#include <array>

#include "treaty/base/text.h"
#include "treaty/contracts/text/stack_traces.h"

namespace treaty::contracts {
namespace {

bool is_word(char c) { return is_alphanumeric(c) || c == '_'; }
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// True when no word runs into `at` from the left.
bool begins_word(std::string_view text, std::size_t at) {
  return at == 0 || !is_word(text[at - 1]);
}

// How many characters from `at` on satisfy `test`. It stops at `most`: all questions below are
// answered by then, and a hostile text must not have it look at the same characters again and
// again.
constexpr std::size_t kFarEnough = 256;
std::size_t run(std::string_view text, std::size_t at, auto test, std::size_t most = kFarEnough) {
  std::size_t size = 0;
  while (size < most && at + size < text.size() && test(text[at + size])) ++size;
  return size;
}

// --- File paths -----------------------------------------------------------------------------

constexpr std::array<std::string_view, 26> kRoots = {
    "home", "root", "srv",   "var",   "etc",     "usr",     "opt",     "app",         "tmp",
    "proc", "sys",  "dev",   "mnt",   "run",     "bin",     "sbin",    "lib",         "lib64",
    "boot", "data", "media", "Users", "Library", "private", "Volumes", "Applications"};

// Something below a known root. A slash that continues a word, a link or another path is no root.
bool is_posix_path(std::string_view text, std::size_t at) {
  if (at > 0 && (is_word(text[at - 1]) || std::string_view("/.~-").contains(text[at - 1]))) {
    return false;
  }
  const std::size_t size = run(text, at + 1, is_word);
  const std::size_t below = at + 1 + size;
  if (below + 1 >= text.size() || text[below] != '/') return false;
  const char next = text[below + 1];
  return (is_word(next) || next == '.' || next == '-') &&
         std::ranges::find(kRoots, text.substr(at + 1, size)) != kRoots.end();
}

bool is_drive_path(std::string_view text, std::size_t at) {
  if (at == 0 || !is_letter(text[at - 1]) || !begins_word(text, at - 1)) return false;
  if (at + 1 >= text.size()) return false;
  if (text[at + 1] == '\\') return true;
  return text[at + 1] == '/' && at + 2 < text.size() && is_word(text[at + 2]);
}

bool is_network_share(std::string_view text, std::size_t at) {
  if (!text.substr(at).starts_with("\\\\")) return false;
  const std::size_t host =
      run(text, at + 2, [](char c) { return is_word(c) || c == '.' || c == '-'; });
  const std::size_t share = at + 2 + host;
  return host > 0 && share + 1 < text.size() && text[share] == '\\' && is_word(text[share + 1]);
}

bool has_file_path(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '/' && is_posix_path(text, at)) return true;
    if (text[at] == ':' && is_drive_path(text, at)) return true;
    if (text[at] == '\\' && is_network_share(text, at)) return true;
  }
  return text.contains("file:///");
}

// --- Environment ----------------------------------------------------------------------------

constexpr std::array<std::string_view, 16> kSecretWords = {
    "KEY", "TOKEN", "SECRET", "PASS", "PWD",  "CREDENTIAL", "AUTH", "PRIVATE",
    "DSN", "URL",   "URI",    "CONN", "SALT", "COOKIE",     "CERT", "SIGNATURE"};
constexpr std::size_t kLongValue = 16;

// KEY=value, where the name has a word that smells of a secret or the value is long.
bool has_environment_line(std::string_view text) {
  for (std::size_t equals = text.find('='); equals != std::string_view::npos;
       equals = text.find('=', equals + 1)) {
    std::size_t begin = equals;
    const auto in_name = [](char c) { return is_upper(c) || is_digit(c) || c == '_'; };
    while (begin > 0 && in_name(text[begin - 1])) --begin;
    const std::string_view name = text.substr(begin, equals - begin);
    if (name.size() < 2 || !is_upper(name[0]) || !begins_word(text, begin)) continue;
    const std::size_t value = run(text, equals + 1, [](char c) { return !is_space(c); });
    if (value == 0) continue;
    const bool secret =
        std::ranges::any_of(kSecretWords, [&](auto word) { return name.contains(word); });
    if (secret || value >= kLongValue) return true;
  }
  return false;
}

// `password=x`, as connection strings have it, in any case.
bool has_password(std::string_view text) {
  for (std::size_t equals = text.find('='); equals != std::string_view::npos;
       equals = text.find('=', equals + 1)) {
    if (equals + 1 == text.size() || is_space(text[equals + 1])) continue;
    for (const std::string_view word : {"password", "passwd", "pwd"}) {
      if (equals < word.size() || !begins_word(text, equals - word.size())) continue;
      if (equal_folded(text.substr(equals - word.size(), word.size()), word)) return true;
    }
  }
  return false;
}

// --- Keys -----------------------------------------------------------------------------------

struct KeyShape {
  std::string_view prefix;
  std::size_t least;  // Characters after the prefix.
};
constexpr std::array<KeyShape, 24> kKeyShapes = {{
    {"sk-ant-", 8},      {"sk-proj-", 8}, {"sk-or-", 8}, {"sk-", 16},    {"sk_live_", 8},
    {"sk_test_", 8},     {"rk_live_", 8}, {"gsk_", 16},  {"AIza", 20},   {"xai-", 16},
    {"csk-", 16},        {"hf_", 16},     {"pplx-", 16}, {"ghp_", 16},   {"gho_", 16},
    {"ghu_", 16},        {"ghs_", 16},    {"ghr_", 16},  {"glpat-", 16}, {"xoxb-", 10},
    {"github_pat_", 16}, {"xoxp-", 10},   {"npm_", 20},  {"ya29.", 16},
}};

bool is_key_character(char c) { return is_word(c) || c == '-'; }

// A long word with hyphens is still prose; a key mixes digits or capitals in.
bool looks_random(std::string_view tail) {
  return std::ranges::any_of(tail, [](char c) { return is_digit(c) || is_upper(c); });
}

bool is_provider_key(std::string_view text, std::size_t at) {
  return std::ranges::any_of(kKeyShapes, [&](const KeyShape& shape) {
    if (!text.substr(at).starts_with(shape.prefix)) return false;
    const std::size_t begin = at + shape.prefix.size();
    const std::size_t size = run(text, begin, is_key_character);
    return size >= shape.least && looks_random(text.substr(begin, size));
  });
}

bool is_cloud_key(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at);
  if (!rest.starts_with("AKIA") && !rest.starts_with("ASIA")) return false;
  return run(text, at + 4, [](char c) { return is_upper(c) || is_digit(c); }) >= 16;
}

bool is_bearer_token(std::string_view text, std::size_t at) {
  constexpr std::string_view kBearer = "bearer ";
  if (!starts_with_folded(text.substr(at), kBearer)) return false;
  const std::size_t begin = at + kBearer.size();
  const std::size_t size = run(text, begin, [](char c) {
    return is_key_character(c) || std::string_view(".~+/=").contains(c);
  });
  return size >= 16 && looks_random(text.substr(begin, size));
}

// Parts between dots, the first two of which are the base64 of JSON objects. Looked for from the
// dot between them, so that a header may have any length.
bool has_json_web_token(std::string_view text) {
  for (std::size_t dot = text.find(".eyJ"); dot != std::string_view::npos;
       dot = text.find(".eyJ", dot + 1)) {
    if (run(text, dot + 1, is_key_character) < 8) continue;
    std::size_t begin = dot;
    while (begin > 0 && is_key_character(text[begin - 1])) --begin;
    for (std::size_t at = text.find("eyJ", begin); at + 10 <= dot; at = text.find("eyJ", at + 1)) {
      if (begins_word(text, at)) return true;
    }
  }
  return false;
}

bool has_key(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!begins_word(text, at)) continue;
    if (is_provider_key(text, at) || is_cloud_key(text, at) || is_bearer_token(text, at)) {
      return true;
    }
  }
  if (has_json_web_token(text)) return true;
  const std::size_t pem = text.find("-----BEGIN ");
  return pem != std::string_view::npos && text.substr(pem).contains("PRIVATE KEY-----");
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
  const std::size_t size = run(
      text, authority,
      [](char c) { return !is_space(c) && !std::string_view("/?#\"'<>)").contains(c); },
      text.size());
  if (data_source) return size > 0 || text.substr(authority).starts_with("/");
  const std::string_view host = text.substr(authority, size);
  return host.contains('@') && !host.starts_with('@');
}

bool has_revealing_address(std::string_view text) {
  for (std::size_t at = text.find("://"); at != std::string_view::npos;
       at = text.find("://", at + 1)) {
    if (is_revealing_address(text, at)) return true;
  }
  return false;
}

}  // namespace

std::string_view find_leak(std::string_view text) {
  if (has_stack_trace(text)) return "a stack trace";
  if (has_key(text)) return "a key or token";
  if (has_revealing_address(text)) return "an address with credentials or of a data source";
  if (has_password(text)) return "a password";
  if (has_environment_line(text)) return "an environment variable";
  if (has_file_path(text)) return "a file path";
  return {};
}

}  // namespace treaty::contracts
