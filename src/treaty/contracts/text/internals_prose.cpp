// The parts of the filter that read sentences: failures of providers, and names of models.
#include <algorithm>
#include <utility>

#include "treaty/base/text.h"
#include "treaty/contracts/text/internals.h"
#include "treaty/contracts/text/shapes.h"
#include "treaty/contracts/text/words.h"

namespace treaty::contracts {
namespace {

// --- Failures of providers --------------------------------------------------------------------

constexpr std::string_view kNameShapes[] = {
    // Companies and programs that serve models and do nothing else.
    "<(openai|anthropic|groq|cerebras|deepseek|xai|ollama|openrouter|chatgpt|huggingface)>",
    "<(vllm|lmstudio|litellm|langchain|vertex ai|hugging face|lm studio|together ai)>",
    "<(mistral ai|fireworks ai|perplexity ai|amazon bedrock|aws bedrock|google gemini)>",
    "<(Mistral|Cohere)>",  // In lower case they are ordinary words.
    // People, winds and constellations have these names, too,
    "<(claude|gemini|mistral|llama|gpt|copilot|qwen)>",
    // and these are also words.
    "<(cohere|bedrock|perplexity|grok|replicate)>",
};
constexpr std::size_t kCapitalNames = 3;
constexpr std::size_t kAmbiguousNames = 4;
constexpr std::size_t kAmbiguousWords = 5;

constexpr std::string_view kTechnical[] = {
    "api",        "apis",        "backend",    "call",     "calls",     "client",   "completions",
    "connection", "credentials", "deployment", "endpoint", "endpoints", "gateway",  "key",
    "model",      "models",      "prompt",     "provider", "request",   "requests", "response",
    "sdk",        "server",      "servers",    "service",  "services",  "upstream"};
// Right before an ambiguous name, these words say that it is not a person's.
constexpr std::string_view kTitles[] = {"api", "backend", "model", "provider", "service"};
constexpr std::string_view kFailures[] = {
    "crashed",      "disconnected", "down",        "error",       "errors",     "exceeded",
    "exception",    "exhausted",    "fail",        "failed",      "failing",    "fails",
    "failure",      "failures",     "offline",     "outage",      "overloaded", "quota",
    "ratelimit",    "ratelimited",  "throttled",   "throttling",  "timeout",    "timeouts",
    "unauthorized", "unavailable",  "unreachable", "unresponsive"};
// A failure only of something technical: an application for a job is rejected, too.
constexpr std::string_view kSoftFailures[] = {
    "busy",    "denied",   "denies",  "expired", "forbidden", "invalid", "issue",  "issues",
    "problem", "problems", "refused", "refuses", "rejected",  "rejects", "trouble"};
// What happens to one exchange with a provider. Companies also close deals and lose clients.
constexpr std::string_view kBreaks[] = {"aborted", "broke",     "broken",     "closed",
                                        "dropped", "empty",     "incomplete", "interrupted",
                                        "lost",    "malformed", "truncated"};
constexpr std::string_view kExchanges[] = {"connection", "prompt",   "query",
                                           "request",    "requests", "response"};
// Nobody says this of a person.
constexpr std::string_view kTechnicalFailures[] = {"overloaded", "quota",   "ratelimited",
                                                   "throttled",  "timeout", "unreachable"};
constexpr std::string_view kHttpErrors[] = {"400", "401", "402", "403", "404", "408", "413", "422",
                                            "429", "500", "502", "503", "504", "520", "524", "529"};
// "did not respond", "is not available".
constexpr std::string_view kAbilities[] = {
    "answer", "answered", "available", "contacted",  "reachable", "reached",    "replied",
    "reply",  "respond",  "responded", "responding", "running",   "successful", "working"};
// Of something technical that did not come to an end.
constexpr std::string_view kOutcomes[] = {"complete", "completed", "found", "processed", "succeed"};
constexpr std::string_view kUnable[] = {"can", "could", "couldn", "did", "didn"};

// What may be between a name and the failure after it: words of grammar, and words about exchanges.
constexpr std::string_view kSmallWords[] = {
    "a",      "after", "again",  "an",   "and",   "are",  "be",   "been",  "being", "by",  "can",
    "cannot", "could", "couldn", "did",  "didn",  "do",   "does", "doesn", "due",   "had", "has",
    "hasn",   "have",  "having", "is",   "isn",   "its",  "just", "many",  "never", "not", "of",
    "our",    "out",   "per",    "s",    "still", "t",    "that", "the",   "this",  "to",  "too",
    "unable", "us",    "was",    "wasn", "were",  "with", "your"};
constexpr std::string_view kLinks[] = {
    "account",      "ai",          "answered",   "appears",   "bad",      "chat",
    "code",         "completed",   "completion", "currently", "daily",    "embeddings",
    "experiencing", "gave",        "gives",      "got",       "hit",      "http",
    "internal",     "keeps",       "limit",      "limits",    "messages", "minute",
    "monthly",      "partial",     "processed",  "raised",    "rate",     "replied",
    "reported",     "reports",     "responded",  "responses", "returned", "returning",
    "returns",      "seconds",     "seems",      "sent",      "server",   "status",
    "stream",       "temporarily", "temporary",  "threw",     "timed",    "token",
    "unexpectedly", "unknown",     "usage",      "went"};

// What may be between a failure and the name after it.
constexpr std::string_view kLinksBack[] = {
    "a",       "an",        "answer",     "api",       "at",     "azure",     "backend",  "be",
    "by",      "completed", "connection", "during",    "from",   "google",    "handled",  "in",
    "model",   "of",        "on",         "our",       "out",    "processed", "provider", "reply",
    "request", "requests",  "response",   "responses", "server", "service",   "t",        "the",
    "through", "to",        "upstream",   "via",       "when",   "while",     "with"};
constexpr std::string_view kContacting[] = {
    "access",     "accessing",   "authenticate",  "authenticating", "call",       "called",
    "calling",    "communicate", "communicating", "connect",        "connecting", "contact",
    "contacting", "get",         "invoke",        "invoking",       "query",      "querying",
    "reach",      "reaching",    "received",      "talking",        "use",        "using"};
constexpr std::string_view kFailuresBack[] = {
    "cannot",    "couldn",  "error",   "errors",  "exceeded",     "exception",
    "failed",    "failing", "fails",   "failure", "limited",      "outage",
    "throttled", "timed",   "timeout", "unable",  "unauthorized", "unavailable"};
constexpr std::string_view kCould[] = {"can", "could", "did", "was", "would"};

bool is_negation(std::string_view word) {
  constexpr std::string_view kNegations[] = {"cannot", "never", "not", "t"};
  return is_among(kNegations, word);
}

// Reads the words after a name one by one, until it is clear whether they tell of a failure.
class FailureAfter {
 public:
  // `object` is what goes to the name or comes from it: "request" of "the request to OpenAI".
  FailureAfter(bool is_ambiguous, std::string_view object) : is_technical_(!is_ambiguous) {
    note(object);
  }

  enum class Verdict { open, failure, none };

  Verdict read(std::string_view word) {
    const bool first = count_++ == 0;
    const bool links = note(word);
    is_technical_ =
        is_technical_ || (first && (is_among(kTechnical, word) || equal_folded(word, "ai")));
    if (is_failure(word, first)) return Verdict::failure;
    previous_ = word;
    return links ? Verdict::open : Verdict::none;
  }

 private:
  // Whether a failure may follow the word.
  bool note(std::string_view word) {
    const bool noun = is_among(kTechnical, word);
    const bool soft = is_among(kSoftFailures, word);
    const bool breaks = is_among(kBreaks, word);
    const bool cannot = equal_folded(word, "cannot") || equal_folded(word, "unable") ||
                        (is_negation(word) && is_among(kUnable, previous_));
    const bool links = noun || soft || breaks || std::ranges::all_of(word, is_digit) ||
                       is_among(kSmallWords, word) || is_among(kLinks, word) ||
                       std::exchange(is_verb_due_, false);
    saw_noun_ = saw_noun_ || noun;
    saw_exchange_ = saw_exchange_ || is_among(kExchanges, word);
    saw_limit_ = saw_limit_ || starts_with_folded(word, "limit");
    saw_not_ = saw_not_ || cannot || is_negation(word);
    is_soft_ = is_soft_ || soft;
    is_broken_ = is_broken_ || breaks || cannot;
    is_verb_due_ = is_verb_due_ || cannot;
    return links;
  }

  bool is_failure(std::string_view word, bool first) const {
    if (equal_folded(previous_, "rate") && starts_with_folded(word, "limit")) return true;
    if (equal_folded(previous_, "timed") && equal_folded(word, "out")) return true;
    if (is_among(kTechnicalFailures, word)) return true;
    if (!first && is_among(kHttpErrors, word)) return true;  // Right after the name: an address.
    if (!is_technical_) return false;
    if ((is_soft_ && saw_noun_) || (is_broken_ && saw_exchange_)) return true;
    if (is_among(kFailures, word)) return true;
    if (saw_limit_ && (equal_folded(word, "reached") || equal_folded(word, "hit"))) return true;
    if (saw_not_ && is_among(kAbilities, word)) return true;
    return saw_not_ && saw_noun_ && is_among(kOutcomes, word);
  }

  bool is_technical_;
  bool saw_noun_ = false;  // Something technical.
  bool saw_exchange_ = false;
  bool saw_limit_ = false;  // A limit, which may then be reached.
  bool saw_not_ = false;
  bool is_soft_ = false;      // A failure if it is one of something technical.
  bool is_broken_ = false;    // A failure if it is one of an exchange.
  bool is_verb_due_ = false;  // Of "could not complete the request", where any verb may stand.
  std::size_t count_ = 0;
  std::string_view previous_;
};

bool fails_after(std::string_view text, std::size_t at, FailureAfter reader) {
  WordsAfter sentence(text, at);
  for (std::size_t i = 0; i < kAhead; ++i) {
    const std::string_view word = sentence.next();
    if (word.empty()) return false;
    const auto verdict = reader.read(word);
    if (verdict != FailureAfter::Verdict::open) return verdict == FailureAfter::Verdict::failure;
  }
  return false;
}

// Whether the words before a name tell that something failed there.
bool fails_before(const WordsBefore& words, bool is_technical) {
  for (std::size_t i = 0; i < kBehind && !words[i].empty(); ++i) {
    if (is_among(kFailuresBack, words[i])) return true;
    if (is_among(kSoftFailures, words[i])) return is_technical || words.any_of(kTechnical);
    if (equal_folded(words[i], "not")) return is_among(kCould, words[i + 1]);
    if (equal_folded(words[i], "able")) return is_negation(words[i + 1]);
    if (equal_folded(words[i], "wrong")) return equal_folded(words[i + 2], "something");
    if (equal_folded(words[i], "no")) return i > 0;
    if (!is_among(kLinksBack, words[i]) && !is_among(kContacting, words[i])) return false;
  }
  return false;
}

// Whether the name may be that of a wind ("the Mistral"), a person or an ordinary word. "The
// provider Claude" is none of these.
bool may_be_another(const ShapeSet::Match& name, const WordsBefore& before) {
  if (name.shape == kCapitalNames) return equal_folded(before[0], "the");
  const bool is_titled = is_among(kTitles, before[0]) && !equal_folded(before[1], "role");
  return name.shape == kAmbiguousWords || (name.shape == kAmbiguousNames && !is_titled);
}

// --- Models -----------------------------------------------------------------------------------

constexpr std::string_view kVersionShapes[] = {
    "<opus (3|4|5).#>",
    "<(claude|llama|gemini|gemma|phi|sonnet|opus|haiku) #>",
    "<grok #>",
};
constexpr std::size_t kOpus = 0;           // Works of music are numbered like this, too.
constexpr std::size_t kNamesOfOthers = 1;  // People, animals and poems have these names, too.

// What is before the name of a model. To grok is also a verb, which has a subject.
constexpr std::string_view kBeforeModels[] = {
    "a",   "and",  "asked", "by",  "called", "from", "in",    "is",  "model", "of",   "on", "or",
    "our", "runs", "the",   "use", "used",   "uses", "using", "via", "was",   "with", "xai"};
constexpr std::string_view kBeforeOthers[] = {"model", "models", "using", "via"};
// Words about the work of a model.
constexpr std::string_view kWork[] = {"ai",      "answered", "anthropic", "api",       "asked",
                                      "llm",     "model",    "models",    "processed", "prompt",
                                      "request", "response", "switched",  "switching", "tokens",
                                      "use",     "used",     "uses",      "using",     "via"};

bool is_at_work(std::string_view text, const ShapeSet::Match& name, const WordsBefore& before) {
  const bool is_alone = before[0].empty() && WordsAfter(text, name.end).next().empty();
  return is_alone || before.any_of(kWork) || any_after(text, name.end, kWork);
}

bool is_model(std::string_view text, const ShapeSet::Match& name) {
  const WordsBefore before(text, name.begin);
  if (name.shape == kOpus) return is_at_work(text, name, before);
  if (name.shape == kNamesOfOthers) return is_among(kBeforeOthers, before[0]);
  return before[0].empty() || is_among(kBeforeModels, before[0]);
}

}  // namespace

bool has_provider_failure(std::string_view text) {
  static const ShapeSet kNames(kNameShapes);
  for (auto name = kNames.find(text); name; name = kNames.find(text, name->end)) {
    const WordsBefore before(text, name->begin);
    const bool is_ambiguous = may_be_another(*name, before);
    const bool is_technical = is_among(kTechnical, WordsAfter(text, name->end).next());
    if ((!is_ambiguous || is_technical) && fails_before(before, is_technical)) return true;
    const bool is_object = equal_folded(before[0], "to") || equal_folded(before[0], "from");
    const std::string_view object = is_object ? before[1] : std::string_view();
    if (fails_after(text, name->end, FailureAfter(is_ambiguous, object))) return true;
  }
  return false;
}

bool names_model(std::string_view text) {
  static const ShapeSet kVersions(kVersionShapes);
  for (auto name = kVersions.find(text); name; name = kVersions.find(text, name->end)) {
    if (is_model(text, *name)) return true;
  }
  return false;
}

}  // namespace treaty::contracts
