// The parts of the filter that know what programs write for their operators: lines of logs, and ids
// of Sentry.
#include <algorithm>
#include <array>

#include "treaty/base/text.h"
#include "treaty/contracts/text/internals.h"
#include "treaty/contracts/text/shapes.h"
#include "treaty/contracts/text/words.h"

namespace treaty::contracts {
namespace {

// --- Lines of logs ----------------------------------------------------------------------------

constexpr std::string_view kLogShapes[] = {
    "\\[(ERROR|ERR|WARN|WARNING|INFO|DEBUG|FATAL|CRITICAL|TRACE|SEVERE)\\]",
    "<(ERROR|WARNING|INFO|DEBUG|CRITICAL):@:",
    "<(ERROR|WARNING|INFO|DEBUG|CRITICAL):@.@:",
    "<(ERROR|WARN|FATAL|DEBUG) \\[@",
    "<(ERROR|WARN|FATAL|DEBUG|TRACE) @.@.@",
    "<ERROR in @:",
    " - (ERROR|WARNING|INFO|DEBUG|CRITICAL) - ",
    "<(level|severity|lvl)=(error|err|warn|warning|info|debug|fatal|panic|trace|critical)>",
    "<(level|severity|lvl)=\"(error|err|warn|warning|info|debug|fatal|panic|trace|critical)\"",
    "\"(level|levelname|severity|loglevel|log_level)\":",
    "<(I|W|E|F)# #:#:#.#",
    "/(@|) HTTP/#.#",
    "<(GET|POST|PUT|DELETE|PATCH) /@(/@|)(/@|)(/@|) (200|201|400|401|403|404|422|429|500|502|503)>",
    "<(ERROR|WARN|FATAL|DEBUG|TRACE) - @",
    "<(ERROR|WARN|INFO|DEBUG) 20#-#-#",
    "\\[#/@/#:#:#:# ",
    "<npm ERR!",
    "<(DEBUG|TRACE) @.@: ",
    "<20#/#/# #:#:#(.#|) @.(go|rs|c|cc|cpp|py|js|ts|rb|java)(:#|): ",
    "<thread '*' panicked",
};

constexpr std::array<std::string_view, 14> kLevels = {
    "ERROR",    "ERR",   "WARN",   "WARNING", "INFO",  "DEBUG", "FATAL",
    "CRITICAL", "TRACE", "NOTICE", "SEVERE",  "PANIC", "ALERT", "EMERGENCY"};

bool is_level(std::string_view word, bool in_any_case) {
  const bool upper = std::ranges::find(kLevels, word) != kLevels.end();
  return upper || (in_any_case && std::ranges::any_of(kLevels, [&](std::string_view level) {
                     return equal_folded(level, word);
                   }));
}

// `planner.ERROR` is ERROR: some loggers join the level to their name.
std::string_view without_channel(std::string_view word) { return word.substr(word.rfind('.') + 1); }

// Whether `pattern` is at `at`; its digits stand for any digit.
bool is_like(std::string_view text, std::size_t at, std::string_view pattern) {
  if (at > text.size() || text.size() - at < pattern.size()) return false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = text[at + i];
    if (is_digit(pattern[i]) ? !is_digit(c) : c != pattern[i]) return false;
  }
  return true;
}

// A time of day with seconds, together with the date before it.
struct Stamp {
  std::size_t begin;
  std::size_t end;
  bool is_dated;
};

// `2026-11-18T`, `18/Nov/2026:` and `18.11.2026 `, in any order.
Stamp with_date(std::string_view line, std::size_t clock) {
  Stamp stamp{clock, clock + std::string_view("00:00:00").size(), false};
  if (clock == 0 || !std::string_view("T :").contains(line[clock - 1])) return stamp;
  constexpr std::size_t kLongest = std::string_view("18/Nov/2026").size();
  const std::size_t end = clock - 1;
  std::size_t begin = end;
  std::size_t separators = 0;
  for (; begin > 0 && end - begin < kLongest; --begin) {
    const char c = line[begin - 1];
    if (std::string_view("-/.").contains(c)) {
      ++separators;
    } else if (!is_alphanumeric(c)) {
      break;
    }
  }
  if (separators == 2 && is_digit(line[begin]) && is_digit(line[end - 1])) {
    stamp.begin = begin;
    stamp.is_dated = true;
  }
  return stamp;
}

// The fraction of a second and the zone: `,123`, `.123456Z`, `+02:00`, ` +0000`, ` UTC`.
std::size_t after_zone(std::string_view line, std::size_t at) {
  const auto digits = [&](std::size_t from) { return run_length(line, from, is_digit); };
  if (at < line.size() && (line[at] == '.' || line[at] == ',')) {
    if (const std::size_t fraction = digits(at + 1); fraction > 0) at += 1 + fraction;
  }
  for (const std::string_view zone : {"Z", " UTC", " Z"}) {
    if (line.substr(at).starts_with(zone)) return at + zone.size();
  }
  for (const std::string_view zone : {"+00:00", "-00:00", "+0000", "-0000", " +0000", " -0000"}) {
    if (is_like(line, at, zone)) return at + zone.size();
  }
  return at;
}

// Whether a level follows the stamp. Between them is nothing but what a logger puts there: the name
// of a thread in brackets; after a date, also its own name or a number.
bool is_followed_by_level(std::string_view line, const Stamp& stamp) {
  constexpr std::size_t kMostParts = 4;
  constexpr std::string_view kSeparators = " \t]>-|:#";
  std::size_t at = after_zone(line, stamp.end);
  for (std::size_t part = 0; part < kMostParts; ++part) {
    at = line.find_first_not_of(kSeparators, at);
    if (at == std::string_view::npos) return false;
    const bool in_brackets = line[at] == '[' || line[at] == '<';
    if (in_brackets) ++at;
    const std::size_t size = run_length(line, at, [&](char c) {
      return in_brackets ? c != ']' && c != '>'
                         : is_word_character(c) || c == '.' || c == '/' || c == '-';
    });
    const std::string_view word = line.substr(at, size);
    const bool is_label = stamp.is_dated && !word.empty() && is_lower(word[0]) &&
                          at + size < line.size() && line[at + size] == ':';
    if (is_level(without_channel(word), in_brackets || is_label)) return true;
    const bool is_logger =
        !word.empty() && stamp.is_dated && (is_lower(word[0]) || is_digit(word[0]));
    if (!in_brackets && !is_logger) return false;
    at += size;
  }
  return false;
}

// Whether a level is before the stamp, as in `INFO[2026-03-01T09:30:00]`.
bool is_preceded_by_level(std::string_view line, const Stamp& stamp) {
  const std::size_t last = line.substr(0, stamp.begin).find_last_not_of(" \t[:");
  if (last == std::string_view::npos) return false;
  std::size_t begin = last + 1;
  while (begin > 0 && is_word_character(line[begin - 1])) --begin;
  return is_level(line.substr(begin, last + 1 - begin), false) && (stamp.is_dated || begin == 0);
}

// `planner.ERROR: boom`, without a stamp.
bool begins_with_channel(std::string_view line, std::size_t first) {
  if (first == line.size() || !is_lower(line[first])) return false;
  const std::size_t size =
      run_length(line, first, [](char c) { return is_word_character(c) || c == '.' || c == '-'; });
  const std::string_view word = line.substr(first, size);
  return line.substr(first + size).starts_with(':') && word.contains('.') &&
         is_level(without_channel(word), false);
}

// `host planner[123]: `, as the system's own log has it.
bool is_followed_by_process(std::string_view line, const Stamp& stamp) {
  static constexpr std::string_view kShape[] = {" *@\\[#\\]: "};
  static const ShapeSet kProcess(kShape);
  return kProcess.begins(line.substr(stamp.end));
}

// A clock alone is no sign of a log: people write the time, too. The level has to be where a logger
// writes it.
bool is_stamped_line(std::string_view line) {
  constexpr std::string_view kClock = "00:00:00";
  const std::size_t first = std::min(line.find_first_not_of(" \t[(\"'`>*"), line.size());
  if (begins_with_channel(line, first)) return true;
  for (std::size_t colon = line.find(':'); colon != std::string_view::npos;
       colon = line.find(':', colon + 1)) {
    if (colon < 2 || !is_like(line, colon - 2, kClock)) continue;
    const Stamp stamp = with_date(line, colon - 2);
    const bool begins = stamp.begin <= first;
    if ((begins || stamp.is_dated) && is_followed_by_level(line, stamp)) return true;
    if (is_preceded_by_level(line, stamp) || is_followed_by_process(line, stamp)) return true;
    colon += kClock.size() - 3;
  }
  return false;
}

// --- Sentry -----------------------------------------------------------------------------------

constexpr std::string_view kSentryShapes[] = {
    "<sentry-(event-|issue-|)(id|trace|dsn)>",
    "<sentry (event |issue |)(id|trace|dsn)(:|=| :| =)",
    "ingest(.@|).sentry.io",
    "sentry.io/*(issues|events)/",
};
constexpr std::string_view kEventIdShapes[] = {
    "<(event|error|incident|issue|crash)( |-|)(id|reference|ref|report)>",
    "<sentry>",
};
// What is before an id that Sentry gave to a problem, and how many digits it has at least if it is
// a number: a guard has a small one.
struct SentryReference {
  std::string_view shape;
  std::size_t least_digits;
};
constexpr SentryReference kReferences[] = {
    {"<sentry(:|) (issue|event|error|alert|ref|reference|id)(: | \\#| id | )", 4},
    {"<sentry \\#", 5},
    {"<sentry: ", 7},
    {"<sentry as ", 5},
};

bool is_hex_id(std::string_view word, std::size_t least) {
  return word.size() >= least && std::ranges::any_of(word, is_digit) &&
         std::ranges::any_of(word, is_letter) && std::ranges::all_of(word, [](char c) {
           return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'f');
         });
}

bool is_id_character(char c) { return is_upper(c) || is_digit(c); }

// `ACME-WEB-1X`: the name of a project and a number to the base of 36.
bool is_short_id(std::string_view text) {
  const std::size_t size =
      run_length(text, 0, [](char c) { return is_id_character(c) || c == '-'; });
  const std::string_view id = text.substr(0, size);
  const std::size_t dash = id.rfind('-');
  const bool ends = size == text.size() || !is_word_character(text[size]);
  return ends && dash != std::string_view::npos && dash >= 2 && dash + 1 < size &&
         is_upper(id[0]) && is_upper(id[1]);
}

bool has_sentry_reference(std::string_view text) {
  static constexpr std::string_view kShape[] = {kReferences[0].shape, kReferences[1].shape,
                                                kReferences[2].shape, kReferences[3].shape};
  static const ShapeSet kShapes(kShape);
  for (auto found = kShapes.find(text); found; found = kShapes.find(text, found->end)) {
    const std::string_view id = text.substr(found->end);
    const std::size_t digits = run_length(id, 0, is_digit);
    if (digits >= kReferences[found->shape].least_digits || is_short_id(id)) return true;
  }
  static constexpr std::string_view kInside[] = {"<(issue|event) @-@(-@|) in Sentry>"};
  static const ShapeSet kInsides(kInside);
  const auto inside = kInsides.find(text);
  return inside && is_short_id(text.substr(text.find(' ', inside->begin) + 1));
}

}  // namespace

bool has_log_line(std::string_view text) {
  static const ShapeSet kShapes(kLogShapes);
  if (kShapes.is_in(text)) return true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (is_stamped_line(text.substr(0, end))) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

bool has_sentry_id(std::string_view text) {
  static const ShapeSet kShapes(kSentryShapes);
  static const ShapeSet kEventIds(kEventIdShapes);
  constexpr std::size_t kWhole = 32;
  constexpr std::size_t kPart = 8;
  if (kShapes.is_in(text) || has_sentry_reference(text)) return true;
  const bool named = find_folded(text, "sentry") != std::string_view::npos;
  const std::size_t least = named ? kPart : kWhole;
  return any_word(text, [&](std::string_view word) { return is_hex_id(word, least); }) &&
         kEventIds.is_in(text);
}

}  // namespace treaty::contracts
