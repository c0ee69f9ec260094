// Requests of Anthropic's Messages, written and read: blocks in messages of two roles that take
// turns. Results of tools are blocks of the user; texts of nothing but white space are refused, and
// so is a missing max_tokens.
#include <algorithm>
#include <limits>
#include <set>
#include <span>

#include "treaty/backends/protocols/models.h"
#include "treaty/backends/protocols/request_parts.h"
#include "treaty/base/text.h"

namespace treaty::backends {
namespace {

using json::find_member;
using json::find_text;

constexpr SettingNames kSettings = {
    .max_tokens = "max_tokens", .top_k = "top_k", .stop = "stop_sequences"};

constexpr std::int64_t kMaxTokens = 8'192;           // Room for an answer,
constexpr std::int64_t kMaxThinkingTokens = 32'000;  // and for one whose thinking counts, too.

// The end of a request that the answer shall go on from must not be white space.
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

// A message must not end with a thought, nor the request with white space.
void add_assistant(Blocks& blocks, const Call& call, const ToolIds& ids, std::size_t place) {
  const auto& message = std::get<AssistantMessage>(call.messages[place]);
  each_part(
      message, thoughts_to_send(call, message), is_thought,
      [&](std::string_view text) { add_text(blocks, text, true); },
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
  const bool is_end = place + 1 == call.messages.size() && !blocks.empty();
  if (is_end && blocks.back().is_of_assistant && blocks.back().kind == Block::Kind::text) {
    blocks.back().text = without_trailing_space(blocks.back().text);
  }
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

// How many blocks stand before the newest turn.
std::size_t turn_begin(const Blocks& blocks) {
  std::size_t begin = blocks.size();
  while (begin > 0 && !blocks[begin - 1].is_of_user()) --begin;
  while (begin > 0 && blocks[begin - 1].is_of_user()) --begin;
  return begin;
}

// How many blocks the request had that led to the newest answer.
std::size_t previous_end(const Blocks& blocks) {
  std::size_t end = blocks.size();
  while (end > 0 && !blocks[end - 1].is_of_assistant) --end;
  while (end > 0 && blocks[end - 1].is_of_assistant) --end;
  return end;
}

constexpr std::size_t kMostMarks = 4;  // In a request.

// The provider keeps a prompt up to each mark, and looks for what it has kept at a mark and at the
// 19 blocks before it. A round with ten calls is longer: so what the previous request marked at its
// end is marked again. None of these blocks is a thought, which cannot be marked.
std::set<std::size_t> marked_blocks(const Call& call, const Blocks& blocks) {
  std::set<std::size_t> marks;
  if (!call.caches) return marks;
  for (const std::size_t end : {turn_begin(blocks), previous_end(blocks), blocks.size()}) {
    if (end > 0) marks.insert(end - 1);
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

void write_messages(json::Writer& writer, const Blocks& blocks,
                    const std::set<std::size_t>& marks) {
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

// The provider refuses schemas whose objects are not closed, and older models refuse them all.
bool is_held_to_schema(const Call& call) {
  const Claude claude = claude_of(call.model);
  return call.output && call.output->strict && (!claude.is_one() || claude.takes_schema());
}

// The system text, and the schema where it has to be told in words.
std::string system_of(const Call& call) {
  const bool in_words = call.output && !is_held_to_schema(call);
  std::string system = in_words ? system_with_schema(call) : call.system;
  if (is_blank(system)) system.clear();
  return system;
}

// Tools stand before the system text, whose mark keeps both: theirs is the one to do without.
void write_tools(json::Writer& writer, const Call& call, bool is_marked) {
  if (call.tools.empty()) return;
  writer.name("tools").objects(call.tools, [&](const Tool& tool) {
    write_tool(writer, tool, "input_schema");
    if (is_marked && &tool == &call.tools.back()) write_mark(writer);
  });
}

void write_system(json::Writer& writer, const Call& call, std::string_view system) {
  if (system.empty()) return;
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
  bool drops_unbound = false;  // Thoughts whose prompt has changed.
  std::string_view effort{};   // Empty: none.

  bool is_on() const { return budget || adaptive; }
};

// With a budget, a turn has to begin with thoughts, which one that another provider began does not.
// Later answers of a turn may have none: between two calls these models need not think.
bool is_in_foreign_turn(const Blocks& blocks) {
  std::size_t begin = blocks.size();
  while (begin > 0 && !blocks[begin - 1].is_of_user()) --begin;
  const std::span turn = std::span(blocks).subspan(begin);
  const auto is_answered = [](const Block& block) { return !block.is_of_assistant; };
  const auto first_answer = std::span(turn.begin(), std::ranges::find_if(turn, is_answered));
  const auto is = [](Block::Kind kind) {
    return [kind](const Block& block) { return block.kind == kind; };
  };
  return std::ranges::any_of(turn, is(Block::Kind::call)) &&
         std::ranges::none_of(first_answer, is(Block::Kind::thought));
}

// Models that think by themselves show it only when they are asked to.
Thinking thinking_of(const Call& call, const RequestStyle& style, const Blocks& blocks) {
  const Claude claude = claude_of(call.model);
  Thinking thinking{.drops_unbound = sends_bound_thoughts(call, style)};
  if (!call.reasoning) {
    const bool is_asked = call.shows_thinking || thinking.drops_unbound;
    thinking.adaptive = is_asked && claude.thinks_by_default();
    return thinking;
  }
  const auto& [effort, budget] = *call.reasoning;
  if (effort && (!claude.is_one() || claude.takes_effort())) {
    thinking.effort = name_of(std::max(*effort, Effort::low));  // There is none below.
  }
  const bool takes_budget = !claude.is_one() || claude.takes_budget();
  if (budget && takes_budget && !is_in_foreign_turn(blocks)) {
    thinking.budget = std::max(*budget, kLeastBudget);
  } else {
    thinking.adaptive = !claude.is_one() || claude.takes_adaptive();
  }
  return thinking;
}

std::int64_t sum_of(std::int64_t most, std::int64_t budget) {
  return most > std::numeric_limits<std::int64_t>::max() - budget ? most : most + budget;
}

// What is left for the answer comes on top of the budget, as far as the model writes that much.
std::int64_t max_tokens_of(const Call& call, const Thinking& thinking) {
  const Claude claude = claude_of(call.model);
  const std::int64_t budget = thinking.budget.value_or(0);
  const bool thinks_freely = thinking.adaptive || claude.thinks_by_default();
  const std::int64_t room = thinks_freely ? kMaxThinkingTokens : kMaxTokens;
  const std::int64_t asked = call.max_output_tokens.value_or(sum_of(room, budget));
  const std::int64_t most = asked > budget ? asked : sum_of(asked, budget);
  const std::int64_t limit = claude.most_output_tokens();
  return limit > budget ? std::min(most, limit) : most;
}

// Beside thinking, the provider refuses to be told how to draw words, and for newer models always.
void write_all_settings(json::Writer& writer, const Call& call, const Thinking& thinking) {
  SettingNames names = kSettings;
  names.max_tokens = {};
  if (thinking.is_on() || !claude_of(call.model).takes_sampling()) {
    names.temperature = names.top_p = names.top_k = {};
  }
  writer.member("max_tokens", max_tokens_of(call, thinking));
  write_settings(writer, call, names);
  if (!thinking.is_on()) return;
  writer.name("thinking").begin_object();
  writer.member("type", thinking.adaptive ? "adaptive" : "enabled");
  if (thinking.budget) writer.member("budget_tokens", *thinking.budget);
  if (thinking.adaptive && call.shows_thinking) writer.member("display", "summarized");
  if (thinking.drops_unbound) {
    writer.name("block_binding").begin_object();
    writer.member("prefix_mismatch_behavior", "drop_block").end_object();
  }
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
  const Thinking thinking = thinking_of(call, style, blocks);
  const std::string system = system_of(call);
  const std::set<std::size_t> marks = marked_blocks(call, blocks);
  write_all_settings(writer, call, thinking);
  write_system(writer, call, system);
  write_messages(writer, blocks, marks);
  write_tools(writer, call, call.caches && marks.size() + (system.empty() ? 0 : 1) < kMostMarks);
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
