#include "treaty/contracts/text/internals.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "treaty/base/text.h"
#include "treaty/contracts/text/leaks.h"
#include "treaty/contracts/text/shapes.h"

namespace treaty::contracts {
namespace {

// Every run of word characters, until `test` is true of one.
template <class Test>
bool any_word(std::string_view text, Test test) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t size = run_length(text, at, is_word_character, text.size());
    if (size > 0 && test(text.substr(at, size))) return true;
    at += size;
  }
  return false;
}

// --- Names of programs: exceptions, signals, error codes, parameters, environment variables -----

// `KeyError`, `NullPointerException`. "Error" and "Exception" alone are words.
bool is_exception_name(std::string_view word) {
  if (!is_upper(word[0])) return false;
  return std::ranges::any_of(
      std::array<std::string_view, 3>{"Error", "Exception", "Interrupt"},
      [&](std::string_view end) { return word.size() > end.size() && word.ends_with(end); });
}

constexpr std::string_view kExceptionShapes[] = {
    "<(StopIteration|StopAsyncIteration|SystemExit|GeneratorExit|OOMKilled)>",
    "<std::bad_@",
    "<std::(exception|out_of_range|invalid_argument|terminate)>",
    "<std::(runtime|logic|system|domain|range|overflow|length|future|regex)_error>",
    "::(RecordNotFound|RecordInvalid|ReadTimeout|OpenTimeout|NotFound|Timeout)>",
    "<(NullReference|IndexOutOfRange|OutOfMemory)>",
    "<NoneType>",
    "<object has no attribute '",
    "<cannot read (properties|property) of (undefined|null)>",
    "<undefined is not (a function|an object)>",
};

constexpr std::string_view kErrorCodeShapes[] = {
    "<E(CONNREFUSED|CONNRESET|CONNABORTED|TIMEDOUT|NOTFOUND|HOSTUNREACH|NETUNREACH|PIPE|ADDRINUSE)"
    ">",
    "<E(ACCES|PERM|NOENT|NOSPC|MFILE|EXIST|ISDIR|NOTDIR|AI_AGAIN|INVAL|NOMEM)>",
    "<SIG(SEGV|KILL|ABRT|TERM|BUS|FPE|ILL|PIPE|HUP)>",
    "<(rate_limit|invalid_request|authentication|permission|overloaded|api|not_found)_error>",
    "<(insufficient_quota|context_length_exceeded|rate_limit_exceeded|model_not_found)>",
    "<exceeded your current quota",
    "<(invalid_api_key|billing_hard_limit_reached|RESOURCE_EXHAUSTED|DEADLINE_EXCEEDED)>",
};

constexpr std::string_view kParameterShapes[] = {
    "<(top_p|top_k|max_tokens|max_output_tokens|max_completion_tokens|stop_sequences)>",
    "<(frequency_penalty|presence_penalty|logit_bias|logprobs)>",
    "<temperature=#",
    "<top-p(=| |: )(of |)#.#",
};

// The line `KEY=value` is one of find_leak(); here it is the name that tells.
bool is_environment_name(std::string_view word) {
  constexpr std::array<std::string_view, 9> kEnds = {
      "_API_KEY",       "_SECRET_KEY", "_ACCESS_KEY", "_AUTH_TOKEN", "_ACCESS_TOKEN",
      "_CLIENT_SECRET", "_PASSWORD",   "_DSN",        "DATABASE_URL"};
  return std::ranges::any_of(kEnds, [&](std::string_view end) { return word.ends_with(end); }) &&
         std::ranges::none_of(word, is_lower);
}

constexpr std::string_view kEnvironmentShapes[] = {
    "<process.env.@",
    "<os.environ",
    "<getenv\\(",
};

// --- Databases
// ------------------------------------------------------------------------------------

constexpr std::string_view kSqlShapes[] = {
    "<SQLSTATE>",
    "<sql error:",
    "<SELECT \\* FROM @",
    "<INSERT INTO @",
    "<DELETE FROM @ WHERE ",
    "<UPDATE @ SET @(=| =)",
    "<ORA-#>",
    "<PLS-#>",
    "<(psycopg|psycopg2|asyncpg|sqlalchemy|sqlite3|pymysql|mysqlclient|pymongo|hibernate).@",
    "<PG::@",
    "\\[SQL: ",
    "<SQLITE_(ERROR|BUSY|LOCKED|CORRUPT|CONSTRAINT|READONLY|FULL|CANTOPEN|MISUSE|IOERR)",
    "<ER_@>",
    "<error in your sql syntax",
    "<syntax error at or near",
    "\": syntax error",
    "<incorrect syntax near (the |)(keyword |)'",
    "<ERROR # \\(@\\)",
    "<msg #, level #, state #",
    "<(unique|primary key|foreign key|not null|check) constraint failed",
    "<violates (unique|foreign key|not-null|check|exclusion) constraint",
    "<violation of (unique|primary|foreign) key (constraint|)",
    "<duplicate key (value|error)",
    "<duplicate entry '*' for key",
    "<cannot insert duplicate key",
    "<E11000 duplicate",
    "<relation \"*\" (does not exist|already exists)",
    "<no such (table|column|function|module): @",
    "<unknown column '*' in ",
    "<unknown (database|table) '",
    "<table '@.@' (doesn't|does not|already) exist",
    "<invalid (object|column) name '",
    "<database is locked",
    "<database disk image is malformed",
    "<deadlock (detected|found when)",
    "<lock wait timeout exceeded",
    "<could not serialize access",
    "<canceling statement due to",
    "<current transaction is aborted",
    "<(permission|access) denied for (table|relation|schema|database|sequence|user) ",
    "<password authentication failed for",
    "<too many clients already",
    "<remaining connection slots are reserved",
    "<string or binary data would be truncated",
    "<terminating connection due to",
    "<connection to server at \"",
    "<server closed the connection unexpectedly",
    "<data too long for column",
    "<wrongtype operation against",
};

// `column "price" does not exist` as a database says it: as a clause of its own. In prose a word is
// before it.
bool has_unknown_name(std::string_view text) {
  static constexpr std::string_view kShape[] = {
      "<(column|table|role|database|schema|function|type) \"@\" does not exist"};
  static const ShapeSet kUnknown(kShape);
  for (auto found = kUnknown.find(text); found; found = kUnknown.find(text, found->begin + 1)) {
    const std::size_t last =
        text.find_last_not_of(" \t\r\n", found->begin == 0 ? 0 : found->begin - 1);
    if (found->begin == 0 || last == std::string_view::npos ||
        std::string_view(":(").contains(text[last])) {
      return true;
    }
  }
  return false;
}

constexpr std::string_view kDataSourceShapes[] = {
    "<(data source|initial catalog|dbname)=@",
    "<jdbc:@:",
    ".internal>",
    ".(svc.cluster.local|cluster.local|rds.amazonaws.com|database.windows.net)>",
    "<port (5432|3306|6379|27017|1433|1521|9042|11211|5672|9092)>",
    "(.@|localhost):(5432|3306|6379|27017|1433|1521|9042|11211|5672|9092)>",
};

// --- Logs
// -----------------------------------------------------------------------------------------

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
    "<(ERROR|WARN|WARNING|FATAL|DEBUG|TRACE) - @",
    "<(ERROR|WARN|INFO|DEBUG) #-#-#",
    "\\[#/@/#:#:#:# ",
    "#:#:# *\\[#\\]: ",
    "<npm ERR!",
};

constexpr std::array<std::string_view, 12> kLevels = {"ERROR", "ERR",    "WARN",   "WARNING",
                                                      "INFO",  "DEBUG",  "FATAL",  "CRITICAL",
                                                      "TRACE", "NOTICE", "SEVERE", "PANIC"};

bool is_level(std::string_view word, bool in_brackets) {
  const bool upper = std::ranges::find(kLevels, word) != kLevels.end();
  return upper || (in_brackets && std::ranges::any_of(kLevels, [&](std::string_view level) {
                     return equal_folded(level, word);
                   }));
}

// A time of day with seconds, and in the same line a level.
bool has_stamped_line(std::string_view text) {
  static constexpr std::string_view kClock[] = {"#:#:#"};
  static const ShapeSet kClocks(kClock);
  for (auto clock = kClocks.find(text); clock; clock = kClocks.find(text, clock->end)) {
    const std::size_t before = text.rfind('\n', clock->begin);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const std::size_t end = std::min(text.find('\n', clock->end), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    const bool level = any_word(line, [&](std::string_view word) {
      const std::size_t at = static_cast<std::size_t>(word.data() - line.data());
      const bool in_brackets =
          at > 0 && line[at - 1] == '[' && line.substr(at + word.size()).starts_with(']');
      return is_level(word, in_brackets);
    });
    if (level) return true;
    clock->end = end;  // One look at a line is enough.
  }
  return false;
}

// --- Sentry
// ---------------------------------------------------------------------------------------

constexpr std::string_view kSentryShapes[] = {
    "<sentry(_| |-|)(event_|event |issue |)(id|trace|dsn)>",
    "<Sentry (issue|event|error|alert|id|ref) *#",
    "<Sentry*\\##",
    "<Sentry: @-@",
    "<(issue|event) @-@ in Sentry>",
    "ingest(.@|).sentry.io",
    "sentry.io/*(issues|events)/",
};
constexpr std::string_view kEventIdShapes[] = {
    "<(event|error|incident|issue|crash)( |_|-|)(id|reference|ref|report)>",
    "<sentry>",
};

bool is_hex_id(std::string_view word, std::size_t least) {
  return word.size() >= least && std::ranges::any_of(word, is_digit) &&
         std::ranges::any_of(word, is_letter) && std::ranges::all_of(word, [](char c) {
           return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'f');
         });
}

bool has_sentry_id(std::string_view text) {
  static const ShapeSet kShapes(kSentryShapes);
  static const ShapeSet kEventIds(kEventIdShapes);
  constexpr std::size_t kWhole = 32;
  constexpr std::size_t kPart = 8;
  if (kShapes.is_in(text)) return true;
  const bool named = find_folded(text, "sentry") != std::string_view::npos;
  const std::size_t least = named ? kPart : kWhole;
  return any_word(text, [&](std::string_view word) { return is_hex_id(word, least); }) &&
         kEventIds.is_in(text);
}

// --- Models and providers
// -------------------------------------------------------------------------

constexpr std::string_view kModelShapes[] = {
    "<gpt(-| |)#",
    "<gpt-(oss|image|realtime|audio)",
    "<chatgpt-#",
    "<o#-(mini|preview|pro|high|low)>",
    "<(text|code)-(davinci|curie|babbage|ada|bison)>",
    "<text-embedding-(#|ada)",
    "<text-moderation-",
    "<(davinci|babbage)-#",
    "<dall-e(-| )#",
    "<whisper-(#|large)",
    "<tts-#",
    "<claude-(#|v#|sonnet|opus|haiku|instant)",
    "<claude (sonnet|opus|haiku)>",
    "<claude #(.#|) (sonnet|opus|haiku)>",
    "<claude (2.0|2.1|3.5|3.7|4.1|4.5)>",
    "<gemini-(#|pro|flash|ultra|nano|exp|embedding)",
    "<gemini (pro|flash|ultra|nano)>",
    "<gemini #(.#|) (pro|flash|ultra|nano)>",
    "<gemma(-|)#",
    "<llama(-|)#",
    "<llama #.#",
    "<llama #(-| )#b>",
    "<(codellama|meta-llama|llama-guard)",
    "<(mistral|mixtral|ministral|codestral|pixtral|magistral|devstral|voxtral)-(#|latest)",
    "<(mistral|ministral|pixtral|magistral)-(large|small|medium|tiny|nemo|embed|saba)",
    "<(mistral|mixtral) #(x#|)b>",
    "<(mistral|mixtral|codellama|phi|phi#|qwq|deepseek):(#|latest|instruct|mini)",
    "<command-(r-plus|r-#|r7b|a-#|light|nightly)",
    "<deepseek (r#|v#|coder)>",
    "<deepseek-(chat|coder|reasoner|r#|v#|vl|math|llm)",
    "<qwen(-|)#",
    "<qwen-(max|plus|turbo|long|vl|coder|audio)",
    "<(qwq|qvq)-#b",
    "<grok-(#|beta|vision|code|mini|latest)",
    "<phi-(2|3|3.5|4)>",
    "<sonar-(small|medium|large|reasoning|huge|deep-research)",
    "<(amazon|anthropic|meta|cohere|mistral|ai21).(nova|titan|claude|llama|command|mistral|jamba)",
    "<nova-(micro|lite|pro|premier)-v#",
    "<titan-(text|embed|image)",
    "<jamba-(#|large|mini)",
    "<kimi-(k#|latest|thinking)",
    "<moonshot-v#",
    "<glm-#",
    "<yi-(#b|large|lightning|vision)",
    "<(falcon|vicuna|starcoder|stablelm|alpaca|dolly|mpt|bloom|olmo|granite|solar)-#(.#|)b>",
    "<(nemotron|dbrx|wizardlm|zephyr|openchat|orca|hermes)-#(.#|)b>",
    "-#b-(instruct|chat|it|base|versatile|instant|preview)>",
    "<model=@",
    "<model(_id|_name)(=|:)",
    "\"model\":",
    "<provider(=|: )(openai|anthropic|google|groq|mistral|ollama|azure|bedrock|deepseek|cohere)>",
};

constexpr std::string_view kTokenShapes[] = {
    "<tokens(/| per )(s|sec|second|min|minute|hour|day|request)>",
    "<tok/s>",
    "<tokens_(used|total|in|out|count)>",
};

// Also inside a link: these are called by programs.
constexpr std::string_view kEndpointShapes[] = {
    "<api.(openai.com|anthropic.com|groq.com|mistral.ai|deepseek.com|x.ai|perplexity.ai)",
    "<api.(cohere.ai|cohere.com|together.xyz|together.ai|fireworks.ai|cerebras.ai|replicate.com)",
    "<(generativelanguage|aiplatform).googleapis.com",
    "-aiplatform.googleapis.com",
    ".openai.azure.com",
    "<bedrock-runtime.",
    "<openrouter.ai/api",
    "<api-inference.huggingface.co",
    "<(localhost|127.0.0.1):11434>",
};

// --- Web links
// ------------------------------------------------------------------------------------

// What a web page is about is no matter of ours: each link becomes a word.
std::string without_links(std::string_view text) {
  std::string out;
  std::size_t copied = 0;
  for (std::size_t at = text.find("://"); at != std::string_view::npos; at = text.find("://", at)) {
    std::size_t begin = at;
    while (begin > copied && is_letter(text[begin - 1])) --begin;
    const std::string_view scheme = text.substr(begin, at - begin);
    at += 3;
    if (!equal_folded(scheme, "http") && !equal_folded(scheme, "https")) continue;
    const std::size_t end = std::min(text.find_first_of(" \t\r\n\"<>", at), text.size());
    out.append(text, copied, begin - copied).append("link");
    copied = at = end;
  }
  return out.append(text.substr(copied));
}

struct Category {
  std::string_view shows;
  std::span<const std::string_view> shapes;
};
constexpr Category kCategories[] = {
    {"a token count", kTokenShapes},
    {"an SQL error", kSqlShapes},
    {"a log line", kLogShapes},
    {"an exception name", kExceptionShapes},
    {"an error code", kErrorCodeShapes},
    {"a model id", kModelShapes},
    {"a parameter of a model", kParameterShapes},
    {"an environment variable", kEnvironmentShapes},
    {"an address of a data source", kDataSourceShapes},
};

// All shapes as one set, so that a text is searched once.
class Categories {
 public:
  Categories() : set_(all()) {}

  std::string_view find(std::string_view text) const {
    const auto match = set_.find(text);
    if (!match) return {};
    std::size_t before = 0;
    for (const Category& category : kCategories) {
      before += category.shapes.size();
      if (match->shape < before) return category.shows;
    }
    return {};
  }

 private:
  static std::vector<std::string_view> all() {
    std::vector<std::string_view> shapes;
    for (const Category& category : kCategories) {
      shapes.insert(shapes.end(), category.shapes.begin(), category.shapes.end());
    }
    return shapes;
  }

  ShapeSet set_;
};

std::string_view find_in_prose(std::string_view text) {
  static const Categories kAll;
  if (const std::string_view shows = kAll.find(text); !shows.empty()) return shows;
  if (has_unknown_name(text)) return "an SQL error";
  if (has_stamped_line(text)) return "a log line";
  if (any_word(text, is_exception_name)) return "an exception name";
  if (any_word(text, is_environment_name)) return "an environment variable";
  if (has_token_count(text)) return "a token count";
  if (has_provider_failure(text)) return "a failure of a provider";
  return {};
}

}  // namespace

std::string_view find_internals(std::string_view text) {
  if (const std::string_view leak = find_leak(text); !leak.empty()) return leak;
  static const ShapeSet kEndpoints(kEndpointShapes);
  const std::string plain = plain_text(text);
  if (has_sentry_id(plain)) return "a Sentry id";
  if (kEndpoints.is_in(plain)) return "an address of a provider";
  const std::string prose = without_links(plain);
  if (has_source_path(prose)) return "a source file";
  return find_in_prose(prose);
}

}  // namespace treaty::contracts
