// The part of the filter that tells the tokens of a model from those of games and machines.
#include <algorithm>
#include <cstdint>

#include "treaty/base/text.h"
#include "treaty/contracts/text/internals.h"
#include "treaty/contracts/text/shapes.h"
#include "treaty/contracts/text/words.h"

namespace treaty::contracts {
namespace {

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
std::int64_t count_before(const WordsBefore& words, std::size_t i) {
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

// A number before "token" or "tokens" at `name`. `words` are those before it.
bool counts_before(std::string_view text, const ShapeSet::Match& name, const WordsBefore& words) {
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
    return kind || is_among(kAboutTokens, WordsAfter(text, name.end).next());
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
  WordsAfter sentence(text, at);
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

bool has_token_count(std::string_view text) {
  static const ShapeSet kNames(kTokenNames);
  for (auto name = kNames.find(text); name; name = kNames.find(text, name->end)) {
    const WordsBefore words(text, name->begin);
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
