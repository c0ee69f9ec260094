// The parts of the filter that read sentences: failures of providers, and names of models.
#include <algorithm>

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
    // People, winds and constellations have these names, too.
    "<(claude|gemini|mistral|cohere|bedrock|perplexity|llama|grok|gpt|copilot|replicate|qwen)>",
};
constexpr std::size_t kAmbiguousNames = 3;

constexpr std::string_view kTechnical[] = {
    "api",        "apis",        "backend",    "call",     "calls",     "client",   "completions",
    "connection", "credentials", "deployment", "endpoint", "endpoints", "gateway",  "key",
    "model",      "models",      "prompt",     "provider", "request",   "requests", "response",
    "sdk",        "server",      "servers",    "service",  "services",  "upstream"};
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
// Nobody says this of a person.
constexpr std::string_view kTechnicalFailures[] = {"overloaded", "quota",   "ratelimited",
                                                   "throttled",  "timeout", "unreachable"};
constexpr std::string_view kHttpErrors[] = {"400", "401", "402", "403", "404", "408", "413", "422",
                                            "429", "500", "502", "503", "504", "520", "524", "529"};
// "did not respond", "is not available".
constexpr std::string_view kAbilities[] = {"answer", "available", "reachable",  "reached",
                                           "reply",  "respond",   "responding", "working"};

// What may be between a name and the failure after it.
constexpr std::string_view kLinks[] = {
    "a",          "account",      "after",   "again",     "ai",        "an",
    "and",        "answered",     "appears", "are",       "bad",       "be",
    "been",       "being",        "by",      "can",       "cannot",    "chat",
    "code",       "completion",   "could",   "couldn",    "currently", "daily",
    "did",        "didn",         "do",      "does",      "doesn",     "due",
    "embeddings", "experiencing", "gave",    "gives",     "got",       "had",
    "has",        "hasn",         "have",    "having",    "http",      "internal",
    "is",         "isn",          "its",     "just",      "limit",     "limits",
    "many",       "messages",     "minute",  "monthly",   "not",       "of",
    "our",        "out",          "partial", "per",       "raised",    "rate",
    "replied",    "reported",     "reports", "responded", "responses", "returned",
    "returning",  "returns",      "s",       "seconds",   "seems",     "sent",
    "server",     "status",       "still",   "stream",    "t",         "temporarily",
    "temporary",  "the",          "threw",   "timed",     "to",        "token",
    "too",        "unexpectedly", "unknown", "us",        "usage",     "was",
    "wasn",       "went",         "were",    "with"};

// What may be between a failure and the name after it.
constexpr std::string_view kLinksBack[] = {"a",
                                           "access",
                                           "accessing",
                                           "an",
                                           "answer",
                                           "api",
                                           "at",
                                           "authenticate",
                                           "authenticating",
                                           "azure",
                                           "backend",
                                           "by",
                                           "call",
                                           "called",
                                           "calling",
                                           "communicate",
                                           "communicating",
                                           "connect",
                                           "connecting",
                                           "connection",
                                           "contact",
                                           "contacting",
                                           "during",
                                           "from",
                                           "get",
                                           "google",
                                           "in",
                                           "invoke",
                                           "invoking",
                                           "model",
                                           "of",
                                           "on",
                                           "our",
                                           "out",
                                           "provider",
                                           "query",
                                           "querying",
                                           "reach",
                                           "reaching",
                                           "received",
                                           "reply",
                                           "request",
                                           "requests",
                                           "response",
                                           "responses",
                                           "server",
                                           "service",
                                           "t",
                                           "talking",
                                           "the",
                                           "through",
                                           "to",
                                           "upstream",
                                           "use",
                                           "using",
                                           "via",
                                           "when",
                                           "while",
                                           "with"};
constexpr std::string_view kFailuresBack[] = {
    "cannot",  "couldn",  "error",   "errors",       "exception",  "failed",
    "failing", "fails",   "failure", "limited",      "outage",     "throttled",
    "timed",   "timeout", "unable",  "unauthorized", "unavailable"};
constexpr std::string_view kCould[] = {"can", "could", "did", "was", "would"};

// Reads the words after a name one by one, until it is clear whether they tell of a failure.
class FailureAfter {
 public:
  explicit FailureAfter(bool is_ambiguous) : is_technical_(!is_ambiguous) {}

  enum class Verdict { open, failure, none };

  Verdict read(std::string_view word) {
    const bool first = count_++ == 0;
    const bool noun = is_among(kTechnical, word);
    saw_noun_ = saw_noun_ || noun;
    is_technical_ = is_technical_ || (first && (noun || equal_folded(word, "ai")));
    if (is_failure(word, first)) return Verdict::failure;
    if (is_soft_ || is_among(kSoftFailures, word)) {
      is_soft_ = true;  // It is a failure if something technical follows.
      return saw_noun_ && is_technical_ ? Verdict::failure : Verdict::open;
    }
    saw_limit_ = saw_limit_ || starts_with_folded(word, "limit");
    saw_not_ = saw_not_ || equal_folded(word, "not") || equal_folded(word, "t") ||
               equal_folded(word, "cannot") || equal_folded(word, "never");
    previous_ = word;
    const bool links = noun || std::ranges::all_of(word, is_digit) || is_among(kLinks, word);
    return links ? Verdict::open : Verdict::none;
  }

 private:
  bool is_failure(std::string_view word, bool first) const {
    if (is_soft_) return false;
    if (equal_folded(previous_, "rate") && starts_with_folded(word, "limit")) return true;
    if (equal_folded(previous_, "timed") && equal_folded(word, "out")) return true;
    if (is_among(kTechnicalFailures, word)) return true;
    if (!first && is_among(kHttpErrors, word)) return true;  // Right after the name: an address.
    if (!is_technical_) return false;
    if (is_among(kFailures, word)) return true;
    if (saw_limit_ && (equal_folded(word, "reached") || equal_folded(word, "hit"))) return true;
    if (saw_not_ && is_among(kAbilities, word)) return true;
    return saw_not_ && saw_noun_ && equal_folded(word, "found");
  }

  bool is_technical_;
  bool saw_noun_ = false;   // Something technical since the name.
  bool saw_limit_ = false;  // A limit, which may then be reached.
  bool saw_not_ = false;
  bool is_soft_ = false;
  std::size_t count_ = 0;
  std::string_view previous_;
};

bool fails_after(std::string_view text, std::size_t at, bool is_ambiguous) {
  FailureAfter reader(is_ambiguous);
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
    if (equal_folded(words[i], "no")) return i > 0;
    if (!is_among(kLinksBack, words[i])) return false;
  }
  return false;
}

// --- Models -----------------------------------------------------------------------------------

constexpr std::string_view kVersionShapes[] = {
    "<grok #>",
    "<grok #.#>",
    "<(claude|llama|gemini|gemma|phi) #>",
};
constexpr std::size_t kNamesOfOthers = 2;  // People and animals have these names, too.

// What is before the name of a model. To grok is also a verb, which has a subject.
constexpr std::string_view kBeforeModels[] = {
    "a",   "and",  "asked", "by",  "called", "from", "in",    "is",  "model", "of",   "on", "or",
    "our", "runs", "the",   "use", "used",   "uses", "using", "via", "was",   "with", "xai"};
constexpr std::string_view kBeforeOthers[] = {"model", "models", "using", "via"};

}  // namespace

bool has_provider_failure(std::string_view text) {
  static const ShapeSet kNames(kNameShapes);
  for (auto name = kNames.find(text); name; name = kNames.find(text, name->end)) {
    const bool is_ambiguous = name->shape == kAmbiguousNames;
    const bool is_technical = is_among(kTechnical, WordsAfter(text, name->end).next());
    if ((!is_ambiguous || is_technical) &&
        fails_before(WordsBefore(text, name->begin), is_technical)) {
      return true;
    }
    if (fails_after(text, name->end, is_ambiguous)) return true;
  }
  return false;
}

bool names_model(std::string_view text) {
  static const ShapeSet kVersions(kVersionShapes);
  for (auto name = kVersions.find(text); name; name = kVersions.find(text, name->end)) {
    const std::string_view before = WordsBefore(text, name->begin)[0];
    if (name->shape == kNamesOfOthers ? is_among(kBeforeOthers, before)
                                      : before.empty() || is_among(kBeforeModels, before)) {
      return true;
    }
  }
  return false;
}

}  // namespace treaty::contracts
