#include "treaty/backends/scripted/script_player.h"

#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/text.h"

namespace treaty::backends {
namespace {

bool holds(const Condition& when, const Asked& asked, std::int64_t call) {
  const auto fits = [](const std::optional<std::string>& pattern, std::string_view text) {
    return !pattern || matches_pattern(*pattern, text);
  };
  const bool contains =
      !when.user_contains || folded(asked.user_text).contains(folded(*when.user_contains));
  return contains && fits(when.user, asked.user_text) && fits(when.model, asked.model) &&
         fits(when.path, asked.path) && (!when.call || *when.call == call) &&
         (!when.stream || *when.stream == asked.stream) &&
         (!when.tools || *when.tools != asked.tools.empty()) &&
         (!when.tool_results || *when.tool_results != asked.tool_results.empty());
}

constexpr std::size_t kLargestFilled = std::size_t{16} << 20U;

std::optional<std::string> value_of(std::string_view name, const Asked& asked, std::int64_t call) {
  if (name == "call") return std::to_string(call);
  if (name == "model") return asked.model;
  if (name == "user") return asked.user_text;
  if (name == "tool_results") return fmt::format("{}", fmt::join(asked.tool_results, "\n"));
  return std::nullopt;
}

// One pass over the script's own text: what a caller wrote is never looked at for names, and cannot
// make the text grow without end.
void fill_in(std::string& text, const Asked& asked, std::int64_t call) {
  std::string out;
  std::string_view rest = text;
  for (std::size_t open = rest.find("{{"); open != rest.npos; open = rest.find("{{")) {
    const std::size_t close = rest.find("}}", open);
    if (close == rest.npos) break;
    const auto value = value_of(rest.substr(open + 2, close - open - 2), asked, call);
    out.append(rest.substr(0, value ? open : open + 2));
    if (value && out.size() + value->size() <= kLargestFilled) out.append(*value);
    rest.remove_prefix(value ? close + 2 : open + 2);
  }
  out.append(rest);
  text = std::move(out);
}

bool says_nothing(const Reply& reply) {
  return reply.text.empty() && reply.tool_calls.empty() && !reply.refusal && !reply.error &&
         !reply.body;
}

}  // namespace

bool matches_pattern(std::string_view pattern, std::string_view text) {
  std::size_t at = 0;
  std::size_t in_text = 0;
  std::size_t star = std::string_view::npos;  // The last one passed,
  std::size_t retry = 0;                      // and where what it stands for ends.
  while (in_text < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      retry = in_text;
    } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == text[in_text])) {
      ++at;
      ++in_text;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      in_text = ++retry;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

ScriptPlayer::ScriptPlayer(Script script)
    : script_(std::move(script)), rule_uses_(script_.rules.size()) {}

Reply ScriptPlayer::choose(const Asked& asked) {
  for (std::size_t i = 0; i < script_.rules.size(); ++i) {
    const Rule& rule = script_.rules[i];
    if (rule.times && rule_uses_[i] >= *rule.times) continue;
    if (!holds(rule.when, asked, calls_)) continue;
    ++rule_uses_[i];
    return rule.reply;
  }
  if (script_.replies.empty()) return {};  // The built-in answer.
  if (repeated_ >= script_.replies[position_].times) {
    const bool is_last = position_ + 1 == script_.replies.size();
    if (!is_last || script_.loop) {
      position_ = is_last ? 0 : position_ + 1;
      repeated_ = 0;
    }
  }
  ++repeated_;
  return script_.replies[position_];
}

Reply ScriptPlayer::next(const Asked& asked) {
  ++calls_;
  Reply reply = choose(asked);
  if (says_nothing(reply)) {  // Nothing, or faults alone: they happen to the built-in answer.
    Reply builtin = builtin_reply(asked);
    reply.text = std::move(builtin.text);
    reply.tool_calls = std::move(builtin.tool_calls);
    return reply;
  }
  for (std::string& text : reply.text) fill_in(text, asked, calls_);
  for (ScriptedToolCall& call : reply.tool_calls) fill_in(call.arguments, asked, calls_);
  return reply;
}

std::vector<std::string> spoken_pieces(std::string_view text) {
  constexpr std::size_t kMostPieces = 2'000;  // Each costs a frame of some hundred bytes.
  const std::size_t least = text.size() / kMostPieces;
  std::vector<std::string> pieces;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t word = text.find_first_not_of(" \n", std::min(begin + least, text.size()));
    const std::size_t end = std::min(text.find_first_of(" \n", word), text.size());
    pieces.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return pieces;
}

std::int64_t estimated_tokens(std::size_t bytes) {
  return static_cast<std::int64_t>((bytes + 3) / 4);
}

}  // namespace treaty::backends
