#include "treaty/backends/protocols/wire.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace treaty::backends {
namespace {

constexpr std::size_t kMostToolCalls = 10'000;

}  // namespace

json::ReadOptions wire_reading() {
  return {.max_size = std::size_t{256} << 20U, .max_depth = 512, .grammar_only = true};
}

std::string arguments_text(std::optional<json::Value> arguments) {
  if (!arguments) return {};
  return arguments->is_string() ? std::string(arguments->text()) : json::minified(*arguments);
}

contracts::AgentToolCall tool_call(std::string_view id, std::string_view name,
                                   std::optional<json::Value> arguments) {
  return {.id = std::string(id), .name = std::string(name), .arguments = arguments_text(arguments)};
}

void append_content(std::string& content, std::optional<json::Value> value) {
  if (!value) return;
  if (value->is_string()) content.append(value->text());
  for (const json::Value part : json::elements_of(value)) append_part(content, part);
}

void append_part(std::string& content, json::Value part) {
  if (part.is_string()) content.append(part.text());
  const std::string_view type = json::find_text(part, "type");
  if (type.empty() || type == "text" || type == "output_text") {
    content.append(json::find_text(part, "text"));
  }
}

std::optional<json::Value> read_event(StreamedAnswer& state, std::string_view data) {
  state.document.read(data, wire_reading());
  const auto root = state.document.root();
  if (root && root->is_object()) return root;
  state.broken = true;
  return std::nullopt;
}

void append_arguments(StreamedAnswer& state, std::optional<std::int64_t> index,
                      std::string_view text) {
  for (const auto& open : state.open_calls) {
    if (!index || open.index != *index) continue;
    state.answer.tool_calls[open.position].arguments += text;
    state.has_piece = state.has_piece || !text.empty();
  }
}

void append_thinking(StreamedAnswer& state, std::string_view text) {
  if (text.empty()) return;
  std::string& thinking = state.answer.thinking;
  if (std::exchange(state.breaks_thinking, false) && !thinking.empty()) thinking += "\n\n";
  thinking += text;
}

StreamedAnswer::OpenThought* find_open_thought(StreamedAnswer& state, std::int64_t index) {
  const auto found = std::find_if(state.open_thoughts.rbegin(), state.open_thoughts.rend(),
                                  [&](const auto& open) { return open.index == index; });
  return found == state.open_thoughts.rend() ? nullptr : &*found;
}

StreamedAnswer::OpenThought* open_thought(StreamedAnswer& state, std::int64_t index) {
  if (state.answer.thoughts.size() >= kMostThoughts) {
    state.broken = true;
    return nullptr;
  }
  state.breaks_thinking = true;
  const std::size_t position = state.answer.thoughts.size();
  add_thought(state.answer, {});
  return &state.open_thoughts.emplace_back(
      StreamedAnswer::OpenThought{.index = index, .position = position});
}

void count_thought(StreamedAnswer& state, std::size_t bytes) {
  state.has_piece = state.has_piece || bytes > 0;
  state.thought_bytes += bytes;
  if (state.thought_bytes > kMostThoughtBytes) state.broken = true;
}

void close_thoughts(StreamedAnswer& state) {
  for (const auto& open : state.open_thoughts) {
    std::string& json = state.answer.thoughts[open.position].json;
    json = open.before;
    json += open.object.json();
    json += open.after;
  }
  state.open_thoughts.clear();
}

void put_in_order(StreamedAnswer& state) {
  auto& open = state.open_calls;
  auto& calls = state.answer.tool_calls;
  const auto by_index = [](const auto& left, const auto& right) {
    return left.index < right.index;
  };
  if (open.size() != calls.size() || std::ranges::is_sorted(open, by_index)) return;
  std::vector<std::size_t> order(open.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t left, std::size_t right) {
    return std::pair(open[left].index, left) < std::pair(open[right].index, right);
  });
  std::vector<contracts::AgentToolCall> sorted;
  sorted.reserve(order.size());
  for (const std::size_t i : order) sorted.push_back(std::move(calls[open[i].position]));
  calls = std::move(sorted);
}

bool is_bare_error(json::Value root) {
  if (json::find_text(root, "message").empty()) return false;
  return json::find_text(root, "object") == "error" || json::find_member(root, "code") ||
         json::find_text(root, "type").ends_with("_error");
}

void note_error(results::Answer& answer, std::string_view body) {
  if (answer.error_body.empty()) answer.error_body = body.empty() ? "{}" : body;
}

void note_model(results::Answer& answer, std::string_view model) {
  if (answer.model.empty()) answer.model = model;
}

contracts::AgentToolCall* open_tool_call(StreamedAnswer& state, std::optional<std::int64_t> index,
                                         std::string_view id, std::string_view name) {
  auto& calls = state.answer.tool_calls;
  auto& open = state.open_calls;
  // The newest first: an index that begins again names a new call.
  const auto found = std::find_if(open.rbegin(), open.rend(), [&](const auto& call) {
    if (index) return call.index == *index;
    return id.empty() || call.id == id;
  });
  if (found != open.rend()) {
    // Gemini's compatible endpoint gives every call of an answer the index 0; and calls with
    // neither index nor id come whole, each with its name.
    const bool nameless = !index && id.empty() && calls[found->position].name.empty();
    const bool other_id = !id.empty() && !found->id.empty() && found->id != id;
    const bool another = !name.empty() && (other_id || (!index && id.empty() && !nameless));
    if (!another) return &calls[found->position];
  }
  if (calls.size() >= kMostToolCalls) {
    state.broken = true;
    return nullptr;
  }
  open.push_back({.index = index.value_or(-1), .id = std::string(id), .position = calls.size()});
  calls.push_back({.id = std::string(id), .name = std::string(name), .arguments = {}});
  return &calls.back();
}

}  // namespace treaty::backends
