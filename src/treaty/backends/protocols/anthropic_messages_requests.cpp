// Requests of Anthropic's Messages, written and read: blocks in messages of two roles that take
// turns. Results of tools are blocks of the user; texts of nothing but white space are refused, and
// so is a missing max_tokens.
#include <algorithm>
#include <limits>
#include <set>

#include "treaty/backends/protocols/models.h"
#include "treaty/backends/protocols/request_parts.h"
#include "treaty/base/text.h"

namespace treaty::backends {
namespace {

using json::find_member;
using json::find_text;

constexpr SettingNames kSettings = {
    .max_tokens = "max_tokens", .top_k = "top_k", .stop = "stop_sequences"};

constexpr std::int64_t kMaxTokens = 8192;  // What every model of theirs can give.

// A text that the answer shall go on from must not end with white space.
std::string_view without_trailing_space(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
}

// A block of a message, before it is written. It points into the call.
struct Block {
  enum class Kind { text, image, result, thought, call };
  Kind kind = Kind::text;
  std::string_view text{};  // Or the JSON of a thought, or the id of a call or a result.
  const ImagePart* image = nullptr;
  const ToolMessage* result = nullptr;
  const contracts::AgentToolCall* call = nullptr;

  bool is_of_assistant = false;
  bool is_of_user() const { return !is_of_assistant && kind != Kind::result; }
};

using Blocks = std::vector<Block>;

void add_text(Blocks& blocks, std::string_view text, bool is_of_assistant) {
  if (!is_blank(text)) blocks.push_back({.text = text, .is_of_assistant = is_of_assistant});
}

void add_user(Blocks& blocks, const UserMessage& message) {
  for (const Part& part : message.parts) {
    if (const auto* image = std::get_if<ImagePart>(&part)) {
      blocks.push_back({.kind = Block::Kind::image, .image = image});
    } else {
      add_text(blocks, std::get<TextPart>(part).text, false);
    }
  }
}

bool is_thought(const results::Thought& thought) {
  const ThoughtReader reader(thought);
  const std::string_view type = find_text(reader.object(), "type");
  return type == "thinking" || type == "redacted_thinking";
}

// An answer must not end with a thought.
void add_assistant(Blocks& blocks, const Call& call, const ToolIds& ids, std::size_t place) {
  const auto& message = std::get<AssistantMessage>(call.messages[place]);
  each_part(
      message, thoughts_to_send(call, message), is_thought,
      [&](std::string_view text) { add_text(blocks, without_trailing_space(text), true); },
      [&](std::size_t i) {
        blocks.push_back({.kind = Block::Kind::call,
                          .text = ids.of_call(place, i),
                          .call = &message.tool_calls[i],
                          .is_of_assistant = true});
      },
      [&](const results::Thought& thought, bool /*is_last*/) {
        blocks.push_back(
            {.kind = Block::Kind::thought, .text = thought.json, .is_of_assistant = true});
      });
  while (!blocks.empty() && blocks.back().kind == Block::Kind::thought) blocks.pop_back();
}

Blocks blocks_of(const Call& call, const ToolIds& ids) {
  Blocks blocks;
  each_message(
      call.messages, [&](const auto& user) { add_user(blocks, user); },
      [&](const auto&, std::size_t i) { add_assistant(blocks, call, ids, i); },
      [&](const auto& result, std::size_t i) {
        blocks.push_back(
            {.kind = Block::Kind::result, .text = ids.of_result(i), .result = &result});
      });
  return blocks;
}

// Where the next requests find what this one said: at the end, and before the newest words of the
// user, since those of earlier rounds are too far from the end when a round had many calls.
std::set<std::size_t> marked_blocks(const Call& call, const Blocks& blocks) {
  std::set<std::size_t> marks;
  if (!call.caches) return marks;
  std::size_t newest = blocks.size();
  while (newest > 0 && !blocks[newest - 1].is_of_user()) --newest;
  while (newest > 0 && blocks[newest - 1].is_of_user()) --newest;
  for (const std::size_t end : {newest, blocks.size()}) {
    if (end > 0 && blocks[end - 1].kind != Block::Kind::thought) marks.insert(end - 1);
  }
  return marks;
}

void write_mark(json::Writer& writer) {
  writer.name("cache_control").begin_object().member("type", "ephemeral").end_object();
}

void write_image(json::Writer& writer, const ImagePart& image) {
  writer.member("type", "image").name("source").begin_object().member("type", "base64");
  write_text(writer, "media_type", image.media_type);
  write_text(writer, "data", image.base64);
  writer.end_object();
}

void write_result(json::Writer& writer, const ToolMessage& message, std::string_view id) {
  write_text(writer.member("type", "tool_result"), "tool_use_id", id);
  const bool is_blank_failure = message.failed && is_blank(message.content);
  if (is_blank_failure) write_text(writer, "content", "The tool failed.");  // It may not be empty.
  if (!is_blank(message.content)) write_text(writer, "content", message.content);
  if (message.failed) writer.member("is_error", true);
}

void write_call(json::Writer& writer, const contracts::AgentToolCall& call, std::string_view id) {
  write_text(writer.member("type", "tool_use"), "id", id);
  write_text(writer, "name", call.name);
  writer.name("input").raw(arguments_object(call.arguments));
}

// What stands inside of the block's braces.
void write_block(json::Writer& writer, const Block& block) {
  switch (block.kind) {
    case Block::Kind::text: return write_text(writer.member("type", "text"), "text", block.text);
    case Block::Kind::image: return write_image(writer, *block.image);
    case Block::Kind::result: return write_result(writer, *block.result, block.text);
    case Block::Kind::call: return write_call(writer, *block.call, block.text);
    case Block::Kind::thought: break;  // Is written whole.
  }
}

void write_messages(json::Writer& writer, const Call& call, const Blocks& blocks) {
  const std::set<std::size_t> marks = marked_blocks(call, blocks);
  RoleTurns turns(writer, "content");
  writer.name("messages").begin_array();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Block& block = blocks[i];
    turns.turn_to(block.is_of_assistant ? "assistant" : "user");
    if (block.kind == Block::Kind::thought) {
      writer.raw(block.text);
      continue;
    }
    writer.begin_object();
    write_block(writer, block);
    if (marks.contains(i)) write_mark(writer);
    writer.end_object();
  }
  turns.close();
  writer.end_array();
}

void write_tools(json::Writer& writer, const Call& call) {
  if (call.tools.empty()) return;
  writer.name("tools").objects(call.tools, [&](const Tool& tool) {
    write_tool(writer, tool, "input_schema");
    if (call.caches && &tool == &call.tools.back()) write_mark(writer);
  });
}

// The provider refuses schemas whose objects are not closed, and older models refuse them all.
bool is_held_to_schema(const Call& call) {
  const Claude claude = claude_of(call.model);
  return call.output && call.output->strict && (!claude.is_one() || claude.takes_schema());
}

void write_system(json::Writer& writer, const Call& call) {
  const bool in_words = call.output && !is_held_to_schema(call);
  const std::string system = in_words ? system_with_schema(call) : call.system;
  if (is_blank(system)) return;
  if (!call.caches) return write_text(writer, "system", system);
  writer.name("system").begin_array().begin_object().member("type", "text");
  write_text(writer, "text", system);
  write_mark(writer);
  writer.end_object().end_array();
}

// How the model is asked to think.
struct Thinking {
  std::optional<std::int64_t> budget{};
  bool adaptive = false;
  std::string_view effort{};  // Empty: none.

  bool is_on() const { return budget || adaptive; }
};

// With a budget, an answer whose calls are being answered must have thoughts. One that another
// provider gave has none.
bool is_in_foreign_round(const Blocks& blocks) {
  std::size_t end = blocks.size();
  while (end > 0 && !blocks[end - 1].is_of_assistant) --end;
  if (end == blocks.size()) return false;
  bool has_calls = false;
  for (; end > 0 && blocks[end - 1].is_of_assistant; --end) {
    if (blocks[end - 1].kind == Block::Kind::thought) return false;
    has_calls = has_calls || blocks[end - 1].kind == Block::Kind::call;
  }
  return has_calls;
}

constexpr std::int64_t kLeastBudget = 1024;

Thinking thinking_of(const Call& call, const Blocks& blocks) {
  if (!call.reasoning) return {};
  const auto& [effort, budget] = *call.reasoning;
  const Claude claude = claude_of(call.model);
  Thinking thinking;
  if (effort && (!claude.is_one() || claude.takes_effort())) {
    thinking.effort = name_of(std::max(*effort, Effort::low));  // There is none below.
  }
  const bool takes_budget = !claude.is_one() || claude.takes_budget();
  if (budget && takes_budget && !is_in_foreign_round(blocks)) {
    thinking.budget = std::max(*budget, kLeastBudget);
  } else {
    thinking.adaptive = !claude.is_one() || claude.takes_adaptive();
  }
  return thinking;
}

// What is left for the answer comes on top of the budget.
std::int64_t max_tokens_of(const Call& call, const Thinking& thinking) {
  const std::int64_t most = call.max_output_tokens.value_or(kMaxTokens);
  const std::int64_t budget = thinking.budget.value_or(0);
  const bool fits = call.max_output_tokens && most > budget;
  return fits || most > std::numeric_limits<std::int64_t>::max() - budget ? most : most + budget;
}

// Beside thinking, the provider refuses to be told how to draw words.
void write_all_settings(json::Writer& writer, const Call& call, const Thinking& thinking) {
  SettingNames names = kSettings;
  names.max_tokens = {};
  if (thinking.is_on()) names.temperature = names.top_p = names.top_k = {};
  writer.member("max_tokens", max_tokens_of(call, thinking));
  write_settings(writer, call, names);
  if (!thinking.is_on()) return;
  writer.name("thinking").begin_object();
  writer.member("type", thinking.adaptive ? "adaptive" : "enabled");
  if (thinking.budget) writer.member("budget_tokens", *thinking.budget);
  if (thinking.adaptive && call.shows_thinking) writer.member("display", "summarized");
  writer.end_object();
}

void write_output_config(json::Writer& writer, const Call& call, const Thinking& thinking) {
  const bool has_schema = is_held_to_schema(call);
  if (!has_schema && thinking.effort.empty()) return;
  writer.name("output_config").begin_object();
  if (!thinking.effort.empty()) writer.member("effort", thinking.effort);
  if (has_schema) {
    writer.name("format").begin_object().member("type", "json_schema").name("schema");
    writer.raw(object_or(call.output->schema_json, "{}")).end_object();
  }
  writer.end_object();
}

void read_user_block(ReceivedMessages& messages, json::Value block) {
  const std::string_view type = find_text(block, "type");
  const auto source = find_member(block, "source");
  if (type == "tool_result") {
    messages.add_result({.tool_call_id = std::string(find_text(block, "tool_use_id")),
                         .tool_name = {},
                         .content = content_text(find_member(block, "content")),
                         .failed = is_true(find_member(block, "is_error"))});
  } else if (type == "image" && find_text(source, "type") == "base64") {
    messages.add_user_part(ImagePart{.media_type = std::string(find_text(source, "media_type")),
                                     .base64 = std::string(find_text(source, "data"))});
  } else if (const auto text = block.is_string() ? block : find_member(block, "text")) {
    messages.add_user_part(TextPart{std::string(json::text_of(text))});
  }
}

void read_assistant_block(ReceivedMessages& messages, json::Value block) {
  const std::string_view type = find_text(block, "type");
  if (type == "text") messages.add_text_part(std::string(find_text(block, "text")));
  if (type == "thinking" || type == "redacted_thinking") {
    messages.add_thought(std::string(block.source()));
  }
  if (type != "tool_use") return;
  messages.add_call(
      tool_call(find_text(block, "id"), find_text(block, "name"), find_member(block, "input")));
}

void read_message(ReceivedMessages& messages, json::Value message) {
  const bool is_user = find_text(message, "role") == "user";
  const auto content = find_member(message, "content");
  if (!is_filled_array(content)) {
    if (is_user) return messages.add_user(content);
    return messages.add_assistant_text(content_text(content));
  }
  for (const json::Value block : content->elements()) {
    if (is_user) {
      read_user_block(messages, block);
    } else {
      read_assistant_block(messages, block);
    }
  }
  messages.end_message();
}

// Whether the request marks a part of itself to be kept.
bool has_mark(json::Value value) {
  if (find_member(value, "cache_control")) return true;
  for (const json::Value element : json::elements_of(value)) {
    if (has_mark(element)) return true;
  }
  return false;
}

bool has_marks(json::Value root) {
  for (const std::string_view name : {"system", "tools"}) {
    const auto list = find_member(root, name);
    if (list && has_mark(*list)) return true;
  }
  for (const json::Value message : json::elements_of(find_member(root, "messages"))) {
    const auto content = find_member(message, "content");
    if (content && has_mark(*content)) return true;
  }
  return false;
}

void read_thinking(Call& call, json::Value root) {
  const auto thinking = find_member(root, "thinking");
  const Reasoning read{.effort = effort_of(find_text(find_member(root, "output_config"), "effort")),
                       .budget_tokens = json::find_integer(thinking, "budget_tokens")};
  call.shows_thinking = find_text(thinking, "display") == "summarized";
  if (read != Reasoning{} || find_text(thinking, "type") == "adaptive") call.reasoning = read;
}

}  // namespace

std::string render_anthropic_messages(const Call& call, const RequestStyle& style) {
  json::Writer writer;
  writer.begin_object();
  if (style.model_in_body) write_text(writer, "model", call.model);
  const ToolIds ids(call.messages, {});
  const Blocks blocks = blocks_of(call, ids);
  const Thinking thinking = thinking_of(call, blocks);
  write_all_settings(writer, call, thinking);
  write_system(writer, call);
  write_messages(writer, call, blocks);
  write_tools(writer, call);
  write_output_config(writer, call, thinking);
  if (call.stream) writer.member("stream", true);
  return writer.end_object().take();
}

std::string read_anthropic_messages(ReceivedRequest& request, json::Value root) {
  const auto messages = find_member(root, "messages");
  if (!find_member(root, "max_tokens")) return "max_tokens: Field required";
  if (!messages) return "messages: Field required";
  if (!is_filled_array(messages)) return "messages: at least one message is required";
  ReceivedMessages received;
  received.add_system(content_text(find_member(root, "system")));
  for (const json::Value message : messages->elements()) read_message(received, message);
  received.move_to(request.call);
  for (const json::Value tool : json::elements_of(find_member(root, "tools"))) {
    read_tool(request.call, tool, "input_schema");
  }
  read_output_format(request.call, find_member(find_member(root, "output_config"), "format"));
  read_settings(request.call, root, kSettings);
  read_thinking(request.call, root);
  request.call.caches = has_marks(root);
  return {};
}

}  // namespace treaty::backends
