#include "treaty/contracts/text/internals.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "treaty/base/text.h"
#include "treaty/contracts/text/leaks.h"
#include "treaty/contracts/text/shapes.h"
#include "treaty/contracts/text/words.h"

namespace treaty::contracts {
namespace {

// --- Parameters of models and environment variables ---------------------------------------------

constexpr std::string_view kParameterShapes[] = {
    "<(top_p|top_k|max_tokens|max_output_tokens|max_completion_tokens|stop_sequences)>",
    "<(frequency_penalty|presence_penalty|logit_bias|logprobs)>",
    "<top-p(=| |: )(of |)#.#",
    "<sampling temperature>",
};

// A number from 0 to 2 without a unit: rooms and ovens are warmer, or say what they measure.
bool is_sampling_temperature(std::string_view text) {
  const std::size_t whole = run_length(text, 0, is_digit);
  std::size_t end = whole;
  if (end < text.size() && text[end] == '.') {
    const std::size_t fraction = run_length(text, end + 1, is_digit);
    if (fraction > 0) end += 1 + fraction;
  }
  const bool is_zero =
      text.substr(whole, end - whole).find_first_of("123456789") == std::string_view::npos;
  if (whole != 1 || text[0] > '2' || (text[0] == '2' && !is_zero)) return false;
  static constexpr std::string_view kUnit[] = {"(deg|C>|F>|K>|%)", "( |)\xC2\xB0", "( |)\xC2\xBA",
                                               " (deg|C>|F>|K>)"};
  static const ShapeSet kUnits(kUnit);
  return !kUnits.begins(text.substr(end));
}

bool has_temperature(std::string_view text) {
  static constexpr std::string_view kShape[] = {
      "<temperature=", "\"temperature\": ", "\"temperature\":"};
  static const ShapeSet kNames(kShape);
  for (auto name = kNames.find(text); name; name = kNames.find(text, name->end)) {
    if (is_sampling_temperature(text.substr(name->end))) return true;
  }
  return false;
}

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
    "<SELECT * FROM @( WHERE|;| LIMIT| ORDER BY)",
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
    "<duplicate key (value violates|error collection)",
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
    "<deadlock (found when trying|detected while waiting)",
    "<deadlocked on lock",
    "<lock wait timeout exceeded",
    "<could not serialize access",
    "<canceling statement due to",
    "<current transaction is aborted, commands",
    "<permission denied for (table|relation|schema|database|sequence) ",
    "<access denied for user '",
    "<password authentication failed for",
    "<sorry, too many clients already",
    "<remaining connection slots are reserved",
    "<string or binary data would be truncated",
    "<terminating connection due to (administrator|idle|conflict)",
    "<connection to server at \"",
    "<server closed the connection unexpectedly",
    "<data too long for column '",
    "<wrongtype operation against",
};

// Whether nothing but `:` or `(` is before `at`.
bool begins_clause(std::string_view text, std::size_t at) {
  const std::size_t last = text.substr(0, at).find_last_not_of(" \t\r\n");
  return last == std::string_view::npos || std::string_view(":(").contains(text[last]);
}

// Whether a sentence ends at `at`: no other word of it follows.
bool ends_clause(std::string_view text, std::size_t at) {
  const std::size_t next = text.find_first_not_of(' ', at);
  return next == std::string_view::npos || !is_lower(text[next]);
}

// `column "price" does not exist` and `deadlock detected`, as a database says them: in prose a word
// is before the one, and after the other.
bool has_database_clause(std::string_view text) {
  static constexpr std::string_view kShape[] = {
      "<deadlock detected>",
      "<(column|table|role|database|schema|function|type) \"@\" does not exist"};
  static const ShapeSet kClauses(kShape);
  for (auto found = kClauses.find(text); found; found = kClauses.find(text, found->begin + 1)) {
    if (found->shape == 0 ? ends_clause(text, found->end) : begins_clause(text, found->begin)) {
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

// --- Models and providers
// -------------------------------------------------------------------------

constexpr std::string_view kModelShapes[] = {
    "<(gpt|chatgpt)(-| |)#",
    "<gpt-(oss|image|realtime|audio)",
    "<o#-(mini|preview|pro|high|low)>",
    "<(text|code)-(davinci|curie|babbage|ada|bison)>",
    "<text-embedding-(#|ada)",
    "<text-moderation-",
    "<(davinci|babbage)-#",
    "<dall-e(-| )#",
    "<whisper-(#|large)",
    "<tts-#",
    "<(claude|gemini)-(1|2|3|4|5|6|7|8|9)(.|-|>)",
    "<claude-(v#|sonnet|opus|haiku|instant)",
    "<claude (sonnet|opus|haiku)>",
    "<claude #(.#|) (sonnet|opus|haiku)>",
    "<claude (2.0|2.1|3.5|3.7|4.1|4.5|4.6)>",
    "<(sonnet|haiku) (3|4|5).#>",
    "<openai('s|) o#>",
    "<gemini-(pro|flash|ultra|nano|exp|embedding)",
    "<gemini (pro|flash|ultra|nano)>",
    "<gemini #(.#|) (pro|flash|ultra|nano)>",
    "<gemini (1.0|1.5|2.0|2.5|3.0|3.1|3.5)>",
    "<(gemma|llama)(-|)#",
    "<llama #.#",
    "<llama #(-| )#b>",
    "<llama # (maverick|scout|instruct|chat|vision)>",
    "<gemma # #b>",
    "<(codellama|meta-llama|llama-guard)",
    "<(mistral|mixtral|ministral|codestral|pixtral|magistral|devstral|voxtral)-(#|latest)",
    "<(mistral|ministral|pixtral|magistral)-(large|small|medium|tiny|nemo|embed|saba)",
    "<(mistral|mixtral) #(x#|)b>",
    "<Mistral (Large|Small|Medium|Nemo)>",
    "<(mistral|mixtral|codellama|phi|phi#|qwq|deepseek):(#|latest|instruct|mini)",
    "<command-(r-plus|r-#|r7b|a-#|light|nightly)",
    "<deepseek (r#|v#|coder)>",
    "<deepseek-(chat|coder|reasoner|r#|v#|vl|math|llm)",
    "<qwen(-| |)#",
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
    "<kimi k#>",
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

constexpr ShapeCategory kCategories[] = {
    {"a token count", kTokenShapes},
    {"an SQL error", kSqlShapes},
    {"a model id", kModelShapes},
    {"a parameter of a model", kParameterShapes},
    {"an environment variable", kEnvironmentShapes},
    {"an address of a data source", kDataSourceShapes},
};

std::string_view find_in_prose(std::string_view text) {
  static const ShapeCategories kAll(kCategories);
  if (const std::string_view shows = kAll.find(text); !shows.empty()) return shows;
  if (has_database_clause(text)) return "an SQL error";
  if (has_log_line(text)) return "a log line";
  if (has_provider_failure(text)) return "a failure of a provider";
  if (const std::string_view shows = find_failure(text); !shows.empty()) return shows;
  if (any_word(text, is_environment_name)) return "an environment variable";
  if (has_temperature(text)) return "a parameter of a model";
  if (names_model(text)) return "a model id";
  if (has_token_count(text)) return "a token count";
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
