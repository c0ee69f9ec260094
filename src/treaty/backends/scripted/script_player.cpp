#include "treaty/backends/scripted/script_player.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "treaty/base/json.h"
#include "treaty/base/text.h"

namespace treaty::backends {
namespace {

std::string text_of(const UserMessage& message) {
  std::string text;
  for (const Part& part : message.parts) {
    if (const auto* words = std::get_if<TextPart>(&part)) text += words->text;
  }
  return text;
}

// One of them, or nothing to look for.
bool contains_one_of(std::string_view text, const std::vector<std::string>& parts) {
  if (parts.empty()) return true;
  const std::string all = folded(text);
  return std::ranges::any_of(parts,
                             [&](const std::string& part) { return all.contains(folded(part)); });
}

bool holds(const Condition& when, const Asked& asked, std::int64_t call) {
  const auto fits = [](const std::optional<std::string>& pattern, std::string_view text) {
    return !pattern || matches_pattern(*pattern, text);
  };
  return contains_one_of(asked.user_text, when.user_contains) && fits(when.user, asked.user_text) &&
         fits(when.model, asked.model) && fits(when.path, asked.path) &&
         (!when.call || *when.call == call) && (!when.stream || *when.stream == asked.stream) &&
         (!when.file || *when.file != file_named_in(asked.user_text).empty()) &&
         (!when.tools || *when.tools != asked.tools.empty()) &&
         (!when.tool_results || *when.tool_results != asked.tool_results.empty());
}

constexpr std::size_t kLargestFilled = std::size_t{16} << 20U;

// In a fence that nothing inside can close, with a language tag.
std::string fenced(std::string_view text) {
  std::size_t longest = 2;
  for (std::size_t at = text.find('`'); at < text.size(); at = text.find('`', at)) {
    const std::size_t end = std::min(text.find_first_not_of('`', at), text.size());
    longest = std::max(longest, end - at);
    at = end;
  }
  const std::string fence(longest + 1, '`');
  const bool is_json = json::Document(text, {.grammar_only = true}).root().has_value();
  return fmt::format("{}{}\n{}\n{}", fence, is_json ? "json" : "text", text, fence);
}

std::string fenced_results(const Asked& asked) {
  std::string out;
  for (const std::string& result : asked.tool_results) {
    out += fmt::format("{}{}", out.empty() ? "" : "\n\n", fenced(result));
  }
  return out;
}

std::optional<std::string> value_of(std::string_view name, const Asked& asked, std::int64_t call) {
  if (name == "call") return std::to_string(call);
  if (name == "model") return asked.model;
  if (name == "user") return asked.user_text;
  if (name == "file") return std::string(file_named_in(asked.user_text));
  if (name == "fenced_tool_results") return fenced_results(asked);
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

// `main.cpp` and `src/a.h` have one; `3.5`, `e.g` and `//example.com` do not.
bool has_extension(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || name.size() <= 3 || name.contains("//")) return false;
  const std::string_view extension = name.substr(dot + 1);
  return std::ranges::all_of(extension, is_alphanumeric) &&
         std::ranges::any_of(extension, is_letter);
}

bool says_nothing(const Reply& reply) {
  return reply.text.empty() && reply.tool_calls.empty() && !reply.refusal && !reply.error &&
         !reply.body;
}

}  // namespace

Asked asked_of(const Call& call) { return asked_of(call, call.messages.size()); }

Asked asked_of(const Call& call, std::size_t messages) {
  Asked asked{.model = call.model,
              .stream = call.stream,
              .prompt_bytes = call.system.size() + call.messages.bytes()};
  std::size_t ended = messages;  // Behind the last message that is not a tool's.
  while (ended > 0 && std::holds_alternative<ToolMessage>(call.messages[ended - 1])) --ended;
  for (std::size_t i = ended; i < messages; ++i) {
    asked.tool_results.push_back(std::get<ToolMessage>(call.messages[i]).content);
  }
  for (std::size_t i = ended; i > 0; --i) {
    const auto* user = std::get_if<UserMessage>(&call.messages[i - 1]);
    if (user == nullptr) continue;
    asked.user_text = text_of(*user);
    break;
  }
  for (const Tool& tool : call.tools) {
    asked.tools.push_back({tool.name, tool.parameters_json});
    asked.prompt_bytes += tool.description.size() + tool.parameters_json.size();
  }
  if (call.output) asked.output_schema_json = call.output->schema_json;
  return asked;
}

std::string_view file_named_in(std::string_view text) {
  constexpr std::size_t kFarEnough = 8192;  // Whoever names a file does it early,
  constexpr std::size_t kLongest = 255;     // and no system has longer names.
  text = text.substr(0, kFarEnough);
  const auto is_part = [](char c) {
    return is_word_character(c) || std::string_view("./-+@~").contains(c);
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t size = run_length(text, at, is_part, kFarEnough);
    if (size == 0) continue;
    const std::string_view word = text.substr(at, size);
    at += size;
    const std::string_view name = word.substr(0, word.find_last_not_of("./") + 1);
    if (name.size() <= kLongest && has_extension(name)) return name;
  }
  return {};
}

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
  const MutexLock lock(mutex_);
  ++calls_;
  Reply reply = choose(asked);
  if (says_nothing(reply)) {  // Nothing, or faults alone: they happen to the built-in answer.
    Reply builtin = builtin_reply(asked);
    reply.text = std::move(builtin.text);
    reply.tool_calls = std::move(builtin.tool_calls);
    for (std::string& text : reply.thinking) fill_in(text, asked, calls_);
    return reply;
  }
  for (std::string& text : reply.text) fill_in(text, asked, calls_);
  for (std::string& text : reply.thinking) fill_in(text, asked, calls_);
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

std::vector<std::string> spoken_pieces(const std::vector<std::string>& texts) {
  return texts.size() == 1 ? spoken_pieces(texts[0]) : texts;
}

std::int64_t estimated_tokens(std::size_t bytes) {
  return static_cast<std::int64_t>((bytes + 3) / 4);
}

}  // namespace treaty::backends
