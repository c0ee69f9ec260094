// The parts of the filter that read sentences: failures of providers, and counts of tokens.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "treaty/base/text.h"
#include "treaty/contracts/text/internals.h"
#include "treaty/contracts/text/shapes.h"

namespace treaty::contracts {
namespace {

constexpr std::size_t kLongestWord = 16;  // Of those in the lists below, which are sorted.

bool is_among(std::span<const std::string_view> words, std::string_view word) {
  if (word.size() > kLongestWord) return false;
  std::array<char, kLongestWord> lower{};
  std::ranges::transform(word, lower.begin(), to_lower);
  return std::ranges::binary_search(words, std::string_view(lower.data(), word.size()));
}

// A sentence ends at a full stop, a question mark or an exclamation mark before a space, at a
// semicolon and at the end of a line.
bool ends_sentence(std::string_view text, std::size_t at) {
  const char c = text[at];
  if (c == '\n' || c == ';') return true;
  const bool stop = c == '.' || c == '!' || c == '?';
  return stop && at + 1 < text.size() && text[at + 1] == ' ';
}

constexpr std::size_t kAhead = 9;   // Words of a sentence that are looked at after a place,
constexpr std::size_t kBehind = 7;  // and before it.
constexpr std::size_t kFar = 200;   // Characters that they may be away.

// The words of the sentence after `at`.
class After {
 public:
  After(std::string_view text, std::size_t at)
      : text_(text), at_(at), end_(std::min(text.size(), at + kFar)) {}

  // Empty at the end of the sentence.
  std::string_view next() {
    for (; at_ < end_ && !is_word_character(text_[at_]); ++at_) {
      if (ends_sentence(text_, at_)) at_ = end_ - 1;
    }
    if (at_ >= end_) return {};
    const std::size_t size = run_length(text_, at_, is_word_character);
    at_ += size;
    return text_.substr(at_ - size, size);
  }

 private:
  std::string_view text_;
  std::size_t at_;
  std::size_t end_;
};

// The words of the sentence before `at`, the nearest first.
class Before {
 public:
  Before(std::string_view text, std::size_t at) {
    const std::size_t least = at - std::min(at, kFar);
    while (at > least && count_ < kBehind) {
      if (!is_word_character(text[at - 1])) {
        if (ends_sentence(text, at - 1)) return;
        --at;
        continue;
      }
      const std::size_t end = at;
      while (at > least && is_word_character(text[at - 1])) --at;
      words_[count_++] = text.substr(at, end - at);
    }
  }

  // Empty when there is none.
  std::string_view operator[](std::size_t i) const {
    return i < count_ ? words_[i] : std::string_view();
  }

  bool any_of(std::span<const std::string_view> words, std::size_t from = 0) const {
    for (std::size_t i = from; i < count_; ++i) {
      if (is_among(words, words_[i])) return true;
    }
    return false;
  }

 private:
  std::array<std::string_view, kBehind> words_{};
  std::size_t count_ = 0;
};

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
  After sentence(text, at);
  for (std::size_t i = 0; i < kAhead; ++i) {
    const std::string_view word = sentence.next();
    if (word.empty()) return false;
    const auto verdict = reader.read(word);
    if (verdict != FailureAfter::Verdict::open) return verdict == FailureAfter::Verdict::failure;
  }
  return false;
}

// Whether the words before a name tell that something failed there.
bool fails_before(const Before& words, bool is_technical) {
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

// --- Counts of tokens -------------------------------------------------------------------------

constexpr std::string_view kTokenNames[] = {
    "<(tokens|token)>",
    "_tokens>",
    "Tokens>",
};

constexpr std::string_view kKinds[] = {
    "cache_read", "cache_write", "cached", "completion", "context", "generated", "input",   "max",
    "maximum",    "output",      "prompt", "reasoning",  "request", "response",  "thinking"};
constexpr std::string_view kAnyKinds[] = {"additional", "more", "new", "total"};
// Words about a model at work, in the sentence of a number of tokens.
constexpr std::string_view kSpending[] = {
    "api",    "billed", "budget",    "consumed", "consumes", "context",   "exceeded", "exceeds",
    "length", "limit",  "llm",       "long",     "model",    "processed", "prompt",   "reply",
    "spent",  "took",   "truncated", "usage",    "used",     "uses",      "using",    "window"};
// Where tokens are a kind of money.
constexpr std::string_view kMoney[] = {
    "arcade",   "balance", "bonus",   "bought",  "buy",     "casino", "chips", "coin",
    "coins",    "crypto",  "earn",    "earned",  "game",    "games",  "gift",  "laundry",
    "loyalty",  "machine", "parking", "player",  "players", "points", "prize", "prizes",
    "purchase", "redeem",  "reward",  "rewards", "ride",    "rides",  "shop",  "store",
    "ticket",   "tickets", "vending", "wallet",  "washer",  "win",    "won"};
constexpr std::string_view kAboutTokens[] = {"budget", "context", "count", "counts", "length",
                                             "limit",  "limits",  "usage", "window"};
constexpr std::string_view kFillers[] = {
    "budget", "consumed", "context", "count", "counts",    "far",       "generated", "is",
    "length", "limit",    "limits",  "of",    "processed", "remaining", "so",        "spent",
    "total",  "usage",    "used",    "was",   "were",      "window"};
constexpr std::string_view kUsed[] = {"consumed", "generated", "used"};

constexpr std::int64_t kMany = 100;  // So many tokens are those of a model if nothing else is said,
constexpr std::int64_t kSome = 10;   // and so many, when something is said of their use.

// 1532 of "1,532", 2000 of "2k"; -1 when it is no number.
std::int64_t count_in(std::string_view word) {
  constexpr std::size_t kLongest = 12;
  const bool thousands = word.ends_with('k') || word.ends_with('K');
  const bool millions = word.ends_with('m') || word.ends_with('M');
  if (thousands || millions) word.remove_suffix(1);
  if (word.empty() || word.size() > kLongest || !std::ranges::all_of(word, is_digit)) return -1;
  std::int64_t count = 0;
  for (const char digit : word) count = count * 10 + (digit - '0');
  return count * (millions ? 1'000'000 : thousands ? 1'000 : 1);
}

// The count that ends at the word `i` before a place; groups of digits are words of their own.
std::int64_t count_before(const Before& words, std::size_t i) {
  const std::int64_t last = count_in(words[i]);
  if (last < 0) return -1;
  const bool grouped = words[i].size() >= 3 && count_in(words[i + 1]) > 0;
  return grouped ? std::max(last, kMany) : last;
}

bool is_plural(std::string_view word) { return equal_folded(word, "tokens"); }

// Whether the count of the tokens at `name` is all that a sentence or a bracket has to say:
// "1,532 tokens", "(512/4096 tokens)".
bool is_alone(std::string_view text, const ShapeSet::Match& name) {
  constexpr std::string_view kCount = "0123456789.,/~kKmM ";
  constexpr std::size_t kLongest = 32;
  std::size_t begin = name.begin;
  while (begin > 0 && name.begin - begin < kLongest && kCount.contains(text[begin - 1])) --begin;
  const bool begins = begin == 0 || std::string_view("\n([|").contains(text[begin - 1]);
  const std::size_t end = text.find_first_not_of(' ', name.end);
  return begins &&
         (end == std::string_view::npos || std::string_view("\n)]|,;.").contains(text[end]));
}

bool any_after(std::string_view text, std::size_t at, std::span<const std::string_view> words) {
  After sentence(text, at);
  for (std::size_t i = 0; i < kAhead; ++i) {
    const std::string_view word = sentence.next();
    if (word.empty()) return false;
    if (is_among(words, word)) return true;
  }
  return false;
}

// A number before "token" or "tokens" at `name`. `words` are those before it.
bool counts_before(std::string_view text, const ShapeSet::Match& name, const Before& words) {
  std::size_t i = 0;
  bool kind = false;
  bool total = false;
  for (; i < 2; ++i) {
    const bool is_kind = is_among(kKinds, words[i]);
    if (!is_kind && !is_among(kAnyKinds, words[i])) break;
    kind = kind || is_kind;
    total = total || equal_folded(words[i], "total");
  }
  const std::int64_t count = count_before(words, i);
  if (count < 0) return false;
  // "a 4096-token context", but not "a 6 token ring".
  if (!is_plural(text.substr(name.begin, name.end - name.begin))) {
    return kind || is_among(kAboutTokens, After(text, name.end).next());
  }
  if (kind) return true;
  if (words.any_of(kMoney) || any_after(text, name.end, kMoney)) return false;
  const bool spending = words.any_of(kSpending, i + 1) || words.any_of(kKinds, i + 1) ||
                        any_after(text, name.end, kSpending);
  return (count >= kSome && spending) || (count >= kMany && (total || is_alone(text, name)));
}

// "tokens used: 512", "token limit of 4096". `about`: the word before is a kind of tokens.
bool counts_after(std::string_view text, std::size_t at, std::string_view word, bool about) {
  const std::size_t sign = text.find_first_not_of(" \t\"'`*", at);
  const bool assigned = sign != std::string_view::npos && (text[sign] == ':' || text[sign] == '=');
  After sentence(text, at);
  constexpr std::size_t kNear = 4;
  for (std::size_t i = 0; i < kNear; ++i) {
    const std::string_view next = sentence.next();
    if (const std::int64_t count = count_in(next); count >= 0) {
      return about || (is_plural(word) && i == 0 && assigned && count >= kSome);
    }
    about = about || is_among(kAboutTokens, next) || is_among(kUsed, next);
    if (!is_among(kFillers, next)) return false;
  }
  return false;
}

}  // namespace

bool has_provider_failure(std::string_view text) {
  static const ShapeSet kNames(kNameShapes);
  for (auto name = kNames.find(text); name; name = kNames.find(text, name->end)) {
    const bool is_ambiguous = name->shape == kAmbiguousNames;
    const bool is_technical = is_among(kTechnical, After(text, name->end).next());
    if ((!is_ambiguous || is_technical) && fails_before(Before(text, name->begin), is_technical)) {
      return true;
    }
    if (fails_after(text, name->end, is_ambiguous)) return true;
  }
  return false;
}

bool names_model(std::string_view text) {
  static const ShapeSet kVersions(kVersionShapes);
  for (auto name = kVersions.find(text); name; name = kVersions.find(text, name->end)) {
    const std::string_view before = Before(text, name->begin)[0];
    if (name->shape == kNamesOfOthers ? is_among(kBeforeOthers, before)
                                      : before.empty() || is_among(kBeforeModels, before)) {
      return true;
    }
  }
  return false;
}

bool has_token_count(std::string_view text) {
  static const ShapeSet kNames(kTokenNames);
  for (auto name = kNames.find(text); name; name = kNames.find(text, name->end)) {
    const Before words(text, name->begin);
    if (name->shape != 0) {  // `prompt_tokens`, `totalTokens`.
      if (is_among(kKinds, words[0]) || equal_folded(words[0], "total")) return true;
      continue;
    }
    const std::string_view word = text.substr(name->begin, name->end - name->begin);
    if (counts_before(text, *name, words)) return true;
    if (counts_after(text, name->end, word, is_among(kKinds, words[0]))) return true;
  }
  return false;
}

}  // namespace treaty::contracts
