// The parts of the filter that know how programs fail: crashes, exceptions, exit codes, errors of
// the system, of HTTP and of databases.
#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "treaty/base/text.h"
#include "treaty/contracts/text/internals.h"
#include "treaty/contracts/text/shapes.h"
#include "treaty/contracts/text/words.h"

namespace treaty::contracts {
namespace {

// --- Crashes ----------------------------------------------------------------------------------

constexpr std::string_view kCrashShapes[] = {
    "<segmentation (fault|violation)>",
    "<segfault",
    "<core dumped>",
    "<bus error: #",
    "<floating point exception>",
    "<general protection fault>",
    "<kernel panic>",
    "<stack smashing detected",
    "<double free or corruption",
    "<heap out of memory>",
    "<out of memory: killed",
    "<oom(-| )kill",
    "<null pointer (dereference|exception)>",
    "<access violation (at|reading|writing) ",
    "<(killed|terminated|stopped) by signal>",
    "<(received|caught|got) signal #",
    "<panicked at ",
    "<(uncaught|unhandled) (exception|rejection|promise rejection)>",
};

// --- Errors of the system -----------------------------------------------------------------------

constexpr std::string_view kSystemShapes[] = {
    "\\[(errno|winerror) (-|)#\\]",
    "<errno(=|: |:| )(-|)#>",
    "\\(os error #\\)",
    "<no such file or directory>",
    "<connection (refused|reset by peer|aborted by peer)>",
    "<no space left on device>",
    "<(name or service not known|no route to host|cannot allocate memory)>",
    "<(temporary failure in name resolution|nodename nor servname provided)",
    "<(operation not permitted|input/output error)>",
    "<bind*address already in use>",
    "<permission denied \\(",
    "<getaddrinfo>",
    "<E(CONNREFUSED|CONNRESET|CONNABORTED|TIMEDOUT|NOTFOUND|HOSTUNREACH|NETUNREACH|ADDRINUSE)>",
    "<E(ACCES|PERM|PIPE|NOENT|NOSPC|MFILE|EXIST|ISDIR|NOTDIR|AI_AGAIN|INVAL|NOMEM)>",
    "<SIG(SEGV|KILL|ABRT|TERM|BUS|FPE|ILL|PIPE|HUP|INT|QUIT)>",
};

// --- Errors of providers and of HTTP ------------------------------------------------------------

constexpr std::string_view kApiShapes[] = {
    "<(rate_limit|invalid_request|authentication|permission|overloaded|api|not_found)_error>",
    "<(insufficient_quota|context_length_exceeded|rate_limit_exceeded|model_not_found)>",
    "<exceeded your current quota",
    "<(invalid_api_key|billing_hard_limit_reached|RESOURCE_EXHAUSTED|DEADLINE_EXCEEDED)>",
    "<internal server error>",
    "<bad gateway>",
    "<gateway (timeout|timed out)>",
    "<(401 unauthorized|403 forbidden|429 too many requests|503 service unavailable)>",
    "<rate limit (exceeded|error)>",
    "<api (call |request |)(error|exception)(:| #)",
    "<upstream (connect error|request timeout|timed out|server error)>",
};

// What is before the status of an HTTP response when people or programs talk about it.
constexpr std::string_view kStatusShapes[] = {
    "<(error|status|response|http|api)( status| error|) code(:|=|) (is |was |of |)#>",
    "<(error|status|response|http|api)( status| error|) code(:|=|)#>",
    "<(http|https)(:|)( status| error|)(:|) #>",
    "<http/# #>",
    "<http/#.# #>",
    "<api error(:|) #>",
    "<(failed|returned|responded|replied|answered)( with|)( a|) status(:|) #>",
    "<status=#>",
    "<error #>",
    "<(api|backend|endpoint|gateway|server|service|upstream) returned( a|) #>",
    "<(api|backend|endpoint|gateway|server|service|upstream) (responded|answered) with( a|) #>",
};
constexpr std::size_t kErrorAlone = std::size(kStatusShapes) - 3;
constexpr std::size_t kAnswers = kErrorAlone + 1;  // This shape and the next.

constexpr std::array<std::string_view, 20> kHttpStatuses = {
    "400", "401", "402", "403", "404", "405", "408", "409", "410", "413",
    "422", "429", "500", "501", "502", "503", "504", "520", "524", "529"};
// Machines show numbers, too: these are known as those of HTTP.
constexpr std::array<std::string_view, 5> kKnownErrors = {"429", "500", "502", "503", "504"};

// The digits that end at `end`.
std::string_view digits_before(std::string_view text, std::size_t end) {
  std::size_t begin = end;
  while (begin > 0 && is_digit(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

// "The service returned 500 dollars." A status is followed by a word about it, or by none.
constexpr std::string_view kAfterStatus[] = {
    "after",    "again",        "and",      "at",        "bad",   "because", "but",    "code",
    "error",    "errors",       "for",      "forbidden", "from",  "gateway", "http",   "instead",
    "internal", "on",           "response", "service",   "since", "so",      "status", "too",
    "twice",    "unauthorized", "when",     "while",     "with",  "without"};

bool counts_things(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at);
  const std::size_t next = std::min(rest.find_first_not_of(' '), rest.size());
  const std::size_t size = run_length(rest, next, is_word_character);
  if (size > 0) return !is_among(kAfterStatus, rest.substr(next, size));
  static constexpr std::string_view kShape[] = {"(.|,)#", "-@", "( |)%", "( |)$",
                                                "( |)\xE2\x82\xAC"};
  static const ShapeSet kThings(kShape);
  return kThings.begins(rest);
}

bool has_http_error(std::string_view text) {
  static const ShapeSet kStatuses(kStatusShapes);
  for (auto found = kStatuses.find(text); found; found = kStatuses.find(text, found->end)) {
    const std::string_view status = digits_before(text, found->end);
    const auto is_status = [&](const auto& among) {
      return std::ranges::find(among, status) != std::end(among);
    };
    if (found->shape == kErrorAlone && !is_status(kKnownErrors)) continue;
    if (found->shape >= kAnswers && counts_things(text, found->end)) continue;
    if (is_status(kHttpStatuses)) return true;
  }
  return false;
}

// --- Exit codes ---------------------------------------------------------------------------------

constexpr std::string_view kExitShapes[] = {
    "<(exit|exited|exits|exiting)( with|)( code| status|)(:|=| of|) (-|)#>",
    "<(exit|exited)( with|)( code| status)(:|=)#>",
    "<(with|process|command) return code(:|) (-|)#>",
    "<(exitcode|exit_code|returncode|return_code)(:|=| )( |)(-|)#>",
};

// The status of a process is one byte. A door may have a longer code, and roads have numbered
// exits: "take exit 12".
bool is_exit_status(std::string_view text, const ShapeSet::Match& found) {
  constexpr std::size_t kLongest = 3;
  const std::string_view status = digits_before(text, found.end);
  const bool is_byte = status.size() < kLongest || (status.size() == kLongest && status <= "255");
  const std::string phrase = folded(text.substr(found.begin, found.end - found.begin));
  if (phrase.contains("code") || phrase.contains("status")) return is_byte;
  // "She exited with 3 others."
  const std::size_t next = text.find_first_not_of(' ', found.end);
  const bool is_last =
      next == std::string_view::npos || std::string_view(".,;:)\n").contains(text[next]);
  return is_byte && is_last && phrase.starts_with("exited with");
}

bool has_exit_code(std::string_view text) {
  static constexpr std::string_view kShape[] = {"<non(-|)zero (exit|return)"};
  static const ShapeSet kNonZero(kShape);
  static const ShapeSet kExits(kExitShapes);
  for (auto found = kExits.find(text); found; found = kExits.find(text, found->end)) {
    if (is_exit_status(text, *found)) return true;
  }
  return kNonZero.is_in(text);
}

// --- Exceptions
// -----------------------------------------------------------------------------------

constexpr std::string_view kExceptionShapes[] = {
    "<(StopIteration|StopAsyncIteration|SystemExit|GeneratorExit|OOMKilled)>",
    "<std::bad_@",
    "<std::(exception|out_of_range|invalid_argument|terminate)>",
    "<std::(runtime|logic|system|domain|range|overflow|length|future|regex)_error>",
    "::(RecordNotFound|RecordInvalid|StatementInvalid|ReadTimeout|OpenTimeout|NotFound|Timeout)>",
    "<(NullReference|IndexOutOfRange|OutOfMemory)>",
    "<NoneType>",
    "<object has no attribute '",
    "<cannot read (properties|property) of (undefined|null)>",
    "<undefined is not (a function|an object)>",
    "<(socket|ssl|select|zlib|binascii|struct|subprocess).(timeout|error|gaierror|herror)>",
};

bool ends_with_any(std::string_view word, const auto& ends) {
  return std::ranges::any_of(
      ends, [&](std::string_view end) { return word.size() > end.size() && word.ends_with(end); });
}

// `KeyError`, `NullPointerException`, `ResourceWarning`. "Error" alone is a word.
bool is_exception_name(std::string_view word) {
  constexpr std::array<std::string_view, 4> kEnds = {"Error", "Exception", "Interrupt", "Warning"};
  return is_upper(word[0]) && ends_with_any(word, kEnds);
}

// `ReadTimeout` of `httpx.ReadTimeout`: more than one word, and the last one is a failure.
bool is_failure_name(std::string_view word) {
  constexpr std::array<std::string_view, 9> kEnds = {"Timeout", "Expired",  "Refused",
                                                     "Failure", "NotFound", "DoesNotExist",
                                                     "Denied",  "Exceeded", "Disconnected"};
  return is_upper(word[0]) && ends_with_any(word, kEnds) && std::ranges::any_of(word, is_lower);
}

bool is_module_name(std::string_view word) {
  return !word.empty() && is_lower(word[0]) && std::ranges::none_of(word, is_upper);
}

// `requests.exceptions.Timeout`, `httpx.ReadTimeout`: modules, and a class that is an exception.
// Two sentences without a space between them have no module before the package: "errors.Please".
bool has_qualified_exception(std::string_view text) {
  constexpr std::array<std::string_view, 4> kPackages = {"exceptions", "exception", "errors",
                                                         "error"};
  std::string_view last;  // The word before.
  bool is_inner = false;  // A dot joins it to another one before it.
  return any_word(text, [&](std::string_view word) {
    const bool is_joined = !last.empty() && last.data() + last.size() + 1 == word.data() &&
                           last.data()[last.size()] == '.';
    const std::string_view module = std::exchange(last, word);
    const bool is_nested = std::exchange(is_inner, is_joined);
    if (!is_joined || !is_upper(word[0]) || !is_module_name(module)) return false;
    const bool in_package = is_nested && std::ranges::find(kPackages, module) != kPackages.end();
    return in_package || is_failure_name(word);
  });
}

// --- Databases
// ------------------------------------------------------------------------------------

constexpr std::string_view kDatabaseShapes[] = {
    "<(sqlite|sqlite3|mysql|mariadb|postgres|postgresql|mssql|sql server|mongodb|redis|dynamodb"
    "|elasticsearch|clickhouse|cockroachdb|oracle database|oracle db|cassandra cluster)"
    "( database| server| cluster| connection| query| client|)"
    "( is| has| was| returned an| reported an| threw an| raised an|)"
    " (error|errors|exception|down|unavailable|unreachable|timeout|timed out|failed|failure|crashed"
    "|refused|gone away)>",
    "<(database|db) (error|exception)(:| #)",
    "<(database|db) (connection|query|server|host)( has| was| is|) (failed|error|refused|lost)>",
    "<(database|db) (connection|query|server|host)( has| was| is|) (timed out|timeout|down)>",
    "<(database|db) (connection|query|server|host)( was| is|) unavailable>",
    "<(failed|unable) to (connect to|reach|query|contact) (the |our |)(database|db)>",
    "<(could|can)( not|n't|not|'t) (connect to|reach|query|contact) (the |our |)(database|db)>",
    "<lost connection to (mysql|the database|database)",
};

constexpr ShapeCategory kFailureShapes[] = {
    {"a crash of a program", kCrashShapes},
    {"an error code", kSystemShapes},
    {"an error code", kApiShapes},
    {"an exception name", kExceptionShapes},
    {"a failure of a database", kDatabaseShapes},
};

}  // namespace

std::string_view find_failure(std::string_view text) {
  static const ShapeCategories kAll(kFailureShapes);
  if (const std::string_view shows = kAll.find(text); !shows.empty()) return shows;
  if (has_http_error(text)) return "an error code";
  if (has_exit_code(text)) return "an exit code";
  if (any_word(text, is_exception_name) || has_qualified_exception(text)) {
    return "an exception name";
  }
  return {};
}

}  // namespace treaty::contracts
