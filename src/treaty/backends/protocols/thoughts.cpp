#include "treaty/backends/protocols/thoughts.h"

#include "treaty/backends/protocols/models.h"
#include "treaty/backends/protocols/protocol.h"
#include "treaty/base/json_write.h"
#include "treaty/base/text.h"

namespace treaty::backends {
namespace {

// As deep as answers are read. What the author has written, it can read.
constexpr std::size_t kDeepest = 512;

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

bool has_allowed_thoughts(const results::Answer& answer) {
  std::size_t bytes = 0;
  for (const results::Thought& thought : answer.thoughts) bytes += thought.json.size();
  return bytes <= kMostThoughtBytes && answer.thinking.size() <= kMostThoughtBytes &&
         answer.thoughts.size() <= kMostThoughts;
}

void add_thinking(results::Answer& answer, std::string_view text) {
  if (text.empty()) return;
  if (!answer.thinking.empty()) answer.thinking += "\n\n";
  answer.thinking += text;
}

void add_thought(results::Answer& answer, std::string json) {
  answer.thoughts.push_back(
      {.text = answer.content.size(), .calls = answer.tool_calls.size(), .json = std::move(json)});
}

std::string object_of(std::string_view name, json::Value value) {
  json::Writer writer;
  return writer.begin_object().name(name).raw(value.source()).end_object().take();
}

std::optional<std::string> phase_of(json::Value item) {
  const std::string_view phase = json::find_text(item, "phase");
  if (phase.empty()) return std::nullopt;
  json::Writer writer;
  writer.begin_object().member("type", "message").member("phase", phase);
  return writer.end_object().take();
}

JoinedObject::Member& JoinedObject::member(std::string_view name) {
  for (Member& known : members_) {
    if (known.name == name) return known;
  }
  return members_.emplace_back(Member{.name = std::string(name), .value = {}});
}

void JoinedObject::append(std::string_view name, std::string_view text) {
  Member& target = member(name);
  if (!target.is_text) target.value.clear();
  target.is_text = true;
  target.value += text;
}

void JoinedObject::join(json::Value piece, std::initializer_list<std::string_view> joined) {
  if (!piece.is_object()) return;
  for (const auto& [name, value] : piece.members()) {
    if (value.is_string() && is_one_of(name.text(), joined)) {
      append(name.text(), value.text());
      continue;
    }
    Member& target = member(name.text());
    if (value.is_null() && !target.value.empty()) continue;  // What came before stays.
    target.is_text = value.is_string();
    target.value = value.is_string() ? value.text() : value.source();
  }
}

std::string_view JoinedObject::text(std::string_view name) const {
  const auto found = std::ranges::find(members_, name, &Member::name);
  return found != members_.end() && found->is_text ? std::string_view(found->value)
                                                   : std::string_view();
}

std::string JoinedObject::json() const {
  json::Writer writer;
  writer.begin_object();
  for (const Member& one : members_) {
    writer.name(one.name);
    if (one.is_text) {
      writer.value(std::string_view(one.value));
    } else {
      writer.raw(one.value);
    }
  }
  return writer.end_object().take();
}

std::span<const results::Thought> thoughts_to_send(const Call& call,
                                                   const AssistantMessage& message) {
  const bool fits =
      call.sends_thoughts && !call.author.empty() && message.thoughts.author == call.author;
  return fits ? std::span(message.thoughts.parts) : std::span<const results::Thought>();
}

bool sends_bound_thoughts(const Call& call, const RequestStyle& style) {
  // Anthropic's own names have no vendor; a server with others knows less of the API.
  const bool binds = style.drops_unbound_thoughts && call.model.starts_with("claude") &&
                     claude_of(call.model).binds_thoughts();
  if (!binds) return false;
  for (const Message& message : call.messages) {
    const auto* said = std::get_if<AssistantMessage>(&message);
    if (said != nullptr && !thoughts_to_send(call, *said).empty()) return true;
  }
  return false;
}

ThoughtReader::ThoughtReader(const results::Thought& thought)
    : document_(thought.json, {.max_size = thought.json.size() + 1,
                               .max_depth = kDeepest,
                               .max_faults = 1,
                               .grammar_only = true}) {}

std::optional<json::Value> ThoughtReader::object() const {
  const auto root = document_.root();
  const bool is_good =
      root && root->is_object() && document_.faults().empty() && is_utf8(document_.source());
  return is_good ? root : std::nullopt;
}

bool can_go_back(std::span<const results::Thought> thoughts) {
  return std::ranges::all_of(thoughts, [](const results::Thought& thought) {
    return ThoughtReader(thought).object().has_value();
  });
}

bool is_inside_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

std::size_t character_begin(std::string_view text, std::size_t at) {
  if (at >= text.size()) return text.size();
  while (at > 0 && is_inside_character(text[at])) --at;
  return at;
}

}  // namespace treaty::backends
