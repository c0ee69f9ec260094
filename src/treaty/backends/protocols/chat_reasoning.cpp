#include "treaty/backends/protocols/chat_reasoning.h"

#include <array>

#include "treaty/backends/protocols/request_parts.h"
#include "treaty/backends/protocols/thoughts.h"
#include "treaty/backends/protocols/wire.h"

namespace treaty::backends {
namespace {

using json::find_member;
using json::find_text;

constexpr std::array<std::string_view, 2> kTexts = {"reasoning_content", "reasoning"};
constexpr std::string_view kDetails = "reasoning_details";

// What open thoughts are known by: the text, a part of the content, entries of the details.
constexpr std::int64_t kText = -2;
constexpr std::int64_t kPart = -3;
constexpr std::int64_t kFirstDetail = 0;

constexpr std::string_view kExtra = "extra_content";
constexpr std::string_view kBeforeExtra = R"({"extra_content":)";
constexpr std::string_view kBeforeDetail = R"({"reasoning_details":[)";
constexpr std::string_view kAfterDetail = "]}";
constexpr std::string_view kBeforePart = R"({"type":"thinking","thinking":[)";
constexpr std::string_view kAfterPart = "]}";

bool is_filled_text(json::Value value) { return value.is_string() && !value.text().empty(); }

std::string_view readable_text(json::Value detail) {
  const std::string_view text = find_text(detail, "text");
  return text.empty() ? find_text(detail, "summary") : text;
}

// The entry that a piece goes on with: of its index, its type and, where it names one, its id.
StreamedAnswer::OpenThought* find_detail(StreamedAnswer& state, std::int64_t index,
                                         json::Value piece) {
  StreamedAnswer::OpenThought* open = find_open_thought(state, index);
  if (open == nullptr || open->object.text("type") != find_text(piece, "type")) return nullptr;
  const std::string_view id = find_text(piece, "id");
  const std::string_view known = open->object.text("id");
  return id.empty() || known.empty() || id == known ? open : nullptr;
}

void read_detail_delta(StreamedAnswer& state, json::Value piece, bool is_readable) {
  if (!piece.is_object()) return;
  const std::int64_t index =
      kFirstDetail + std::max<std::int64_t>(json::find_integer(piece, "index").value_or(0), 0);
  StreamedAnswer::OpenThought* open = find_detail(state, index, piece);
  if (open == nullptr) {
    open = open_thought(state, index);
    if (open == nullptr) return;
    open->before = kBeforeDetail;
    open->after = kAfterDetail;
    state.answer.thoughts[open->position] = {};  // Before the text.
  }
  open->object.join(piece, {"text", "summary", "data"});
  count_thought(state, piece.source().size());
  if (is_readable) append_thinking(state, readable_text(piece));
}

// Its JSON is written here, and so is told by its beginning.
bool is_detail(const results::Thought& thought) { return thought.json.starts_with(kBeforeDetail); }

bool is_of_call(const results::Thought& thought, std::size_t place) {
  return thought.calls == place && thought.json.starts_with(kBeforeExtra);
}

bool is_thinking_part(json::Value part) {
  return find_text(part, "type") == "thinking" && find_member(part, "thinking");
}

bool is_part(const results::Thought& thought) {
  const ThoughtReader reader(thought);
  const auto object = reader.object();
  return object && is_thinking_part(*object);
}

// Pieces of one thought follow each other: nothing was said in between.
void read_part_delta(StreamedAnswer& state, json::Value part) {
  const std::string text = content_text(find_member(part, "thinking"));
  StreamedAnswer::OpenThought* open = find_open_thought(state, kPart);
  const results::Answer& answer = state.answer;
  if (open == nullptr || answer.thoughts[open->position].text != answer.content.size() ||
      answer.thoughts[open->position].calls != answer.tool_calls.size()) {
    open = open_thought(state, kPart);
    if (open == nullptr) return;
    open->before = kBeforePart;
    open->after = kAfterPart;
    open->object.append("type", "text");
  }
  open->object.append("text", text);
  count_thought(state, text.size());
  append_thinking(state, text);
}

struct WrittenDetails {
  bool any = false;
  std::string text{};
};

// Nothing when there are no thoughts of this kind.
std::optional<WrittenDetails> write_details(json::Writer& writer,
                                            std::span<const results::Thought> thoughts) {
  if (std::ranges::none_of(thoughts, is_detail)) return std::nullopt;
  WrittenDetails written;
  for (const results::Thought& thought : thoughts) {
    const ThoughtReader reader(thought);
    for (const json::Value detail : json::elements_of(find_member(reader.object(), kDetails))) {
      if (!written.any) writer.name(kDetails).begin_array();
      written.any = true;
      writer.raw(detail.source());
      written.text += readable_text(detail);
    }
  }
  if (written.any) writer.end_array();
  return written;
}

// The first text, under its own name or another one.
bool write_reasoning_text(json::Writer& writer, std::span<const results::Thought> thoughts,
                          std::string_view other_name) {
  for (const results::Thought& thought : thoughts) {
    const ThoughtReader reader(thought);
    for (const std::string_view name : kTexts) {
      const auto text = find_member(reader.object(), name);
      if (!text || !text->is_string()) continue;
      writer.name(other_name.empty() ? name : other_name).raw(text->source());
      return true;
    }
  }
  return false;
}

// {name: text} as it came, or with U+FFFD for what is no character: nothing signs it.
std::string text_thought(std::string_view name, json::Value text) {
  std::string json = object_of(name, text);
  if (ThoughtReader({.json = json}).object()) return json;
  JoinedObject repaired;
  repaired.append(name, text.text());
  return repaired.json();
}

}  // namespace

void ChatReasoning::take(std::string_view member, json::Value value) {
  if (member == kDetails && is_filled_array(value)) details = value;
  if (text || !is_filled_text(value) || std::ranges::find(kTexts, member) == kTexts.end()) return;
  name = member;
  text = value;
}

void read_chat_reasoning(results::Answer& answer, json::Value message) {
  if (!message.is_object()) return;
  ChatReasoning reasoning;
  for (const auto& [name, value] : message.members()) reasoning.take(name.text(), value);
  if (reasoning.text) answer.thinking += reasoning.text->text();
  if (reasoning.text && !reasoning.details) {
    add_thought(answer, text_thought(reasoning.name, *reasoning.text));
  }
  for (const json::Value detail : json::elements_of(reasoning.details)) {
    if (!detail.is_object()) continue;
    if (!reasoning.text) add_thinking(answer, readable_text(detail));
    std::string json(kBeforeDetail);
    add_thought(answer, json.append(detail.source()).append(kAfterDetail));
  }
}

void read_reasoning_delta(StreamedAnswer& state, const ChatReasoning& reasoning) {
  for (const json::Value detail : json::elements_of(reasoning.details)) {
    read_detail_delta(state, detail, !reasoning.text);
  }
  if (!reasoning.text) return;
  const std::string_view text = reasoning.text->text();
  state.breaks_thinking = false;
  append_thinking(state, text);
  if (reasoning.details) return;  // They hold the text.
  StreamedAnswer::OpenThought* open = find_open_thought(state, kText);
  if (open == nullptr) {
    open = open_thought(state, kText);
    if (open == nullptr) return;
    state.breaks_thinking = false;
    state.answer.thoughts[open->position] = {};  // Before the text.
    // The name that came first; another one has the same text.
    open->object.append(*std::ranges::find(kTexts, reasoning.name), text);
  } else {
    open->object.append(open->object.first_name(), text);
  }
  count_thought(state, text.size());
}

void read_chat_content(results::Answer& answer, std::optional<json::Value> content) {
  if (!content || !content->is_array()) return append_content(answer.content, content);
  for (const json::Value part : content->elements()) {
    if (!is_thinking_part(part)) {
      append_part(answer.content, part);
      continue;
    }
    add_thinking(answer, content_text(find_member(part, "thinking")));
    add_thought(answer, std::string(part.source()));
  }
}

void read_content_delta(StreamedAnswer& state, json::Value content) {
  for (const json::Value part : json::elements_of(content)) {
    if (is_thinking_part(part)) {
      read_part_delta(state, part);
    } else {
      append_part(state.answer.content, part);
    }
  }
}

std::optional<std::string> thought_of_call(json::Value call) {
  const auto extra = find_member(call, kExtra);
  const bool is_signed = !find_text(find_member(extra, "google"), "thought_signature").empty();
  return is_signed ? std::optional(object_of(kExtra, *extra)) : std::nullopt;
}

void read_call_thought(StreamedAnswer& state, json::Value delta, std::size_t place) {
  auto json = thought_of_call(delta);
  std::vector<results::Thought>& thoughts = state.answer.thoughts;
  const auto is_there = [&](const auto& thought) { return is_of_call(thought, place); };
  if (!json || std::ranges::any_of(thoughts, is_there)) return;
  count_thought(state, json->size());
  thoughts.push_back({.calls = place, .json = *std::move(json)});
  if (thoughts.size() > kMostThoughts) state.broken = true;
}

void write_call_thought(json::Writer& writer, std::span<const results::Thought> thoughts,
                        std::size_t place) {
  for (const results::Thought& thought : thoughts) {
    if (!is_of_call(thought, place)) continue;
    const ThoughtReader reader(thought);
    const auto extra = find_member(reader.object(), kExtra);
    if (extra) writer.name(kExtra).raw(extra->source());
    return;
  }
}

bool write_chat_reasoning(json::Writer& writer, std::span<const results::Thought> thoughts) {
  const auto written = write_details(writer, thoughts);  // They hold the text, too.
  return written ? written->any : write_reasoning_text(writer, thoughts, {});
}

bool write_reasoning_content(json::Writer& writer, std::span<const results::Thought> thoughts) {
  const auto written = write_details(writer, thoughts);
  if (!written) return write_reasoning_text(writer, thoughts, kTexts.front());
  if (written->text.empty()) return false;
  write_text(writer, kTexts.front(), written->text);
  return true;
}

bool write_content_with_thoughts(json::Writer& writer, const AssistantMessage& message,
                                 std::span<const results::Thought> thoughts) {
  if (std::ranges::none_of(thoughts, is_part)) return false;
  const auto on_text = [&](std::string_view text) {
    writer.begin_object().member("type", "text");
    write_text(writer, "text", text);
    writer.end_object();
  };
  const auto on_thought = [&](const results::Thought& thought, bool /*is_last*/) {
    writer.raw(thought.json);
  };
  writer.name("content").begin_array();
  each_part(message, thoughts, is_part, on_text, [](std::size_t) {}, on_thought);
  writer.end_array();
  return true;
}

std::vector<results::Thought> read_chat_thoughts(json::Value message) {
  results::Answer answer;
  read_chat_reasoning(answer, message);
  read_chat_content(answer, find_member(message, "content"));
  return std::move(answer.thoughts);
}

void write_chat_effort(json::Writer& writer, const Call& call, const RequestStyle& style) {
  if (!call.reasoning) return;
  const auto& [effort, budget] = *call.reasoning;
  if (style.reasoning == ReasoningStyle::object) {
    if (!effort && !budget) return;
    writer.name("reasoning").begin_object();
    if (effort) {
      writer.member("effort", name_of(*effort));
    } else {
      writer.member("max_tokens", *budget);
    }
    writer.end_object();
    return;
  }
  if (!effort) return;
  if (style.reasoning == ReasoningStyle::effort_and_thinking) {
    writer.name("thinking").begin_object().member("type", "enabled").end_object();
  }
  writer.member("reasoning_effort", name_of(*effort));
}

void read_chat_effort(Call& call, json::Value root) {
  const auto reasoning = find_member(root, "reasoning");
  std::string_view effort = find_text(root, "reasoning_effort");
  if (effort.empty()) effort = find_text(reasoning, "effort");
  const Reasoning read{.effort = effort_of(effort),
                       .budget_tokens = json::find_integer(reasoning, "max_tokens")};
  if (read != Reasoning{}) call.reasoning = read;
}

}  // namespace treaty::backends
