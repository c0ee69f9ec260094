#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "treaty/base/text.h"
#include "treaty/machines/reading/sections.h"

namespace treaty::machines {
namespace {

using yaml::Kind;

constexpr std::array<std::string_view, 2> kModes = {"settled", "any"};
constexpr std::array<std::string_view, 2> kChildKeys = {"name", "input"};

bool is_identifier(std::string_view text) {
  return !text.empty() && !is_digit(text[0]) && std::ranges::all_of(text, is_word_character);
}

// The name that `foreach` binds, as far as it does.
std::vector<std::string_view> bound_names(const Place& place, const State& state) {
  if (!place.find("foreach")) return {};
  return {state.item_name};
}

std::optional<ChildReference> read_child(Reader& reader, const Place& place, Bound bound) {
  if (place.kind() != Kind::map) {
    auto name = reader.name(place, "machine", reader.machines, "MCH-16");
    if (!name) return std::nullopt;
    return ChildReference{.name = std::move(*name)};
  }
  reader.refuse_unknown_keys(place, "an entry of machine", kChildKeys);
  ChildReference out;
  if (const auto input = place.find("input")) {
    out.input = read_template_map(reader, *input, "input", bound);
  }
  const auto name = place.find("name");
  if (!name) {
    reader.findings.violate("MCH-05", place, "an entry of machine without a name",
                            "write {name: …, input: {…}}");
    return std::nullopt;
  }
  const auto known = reader.name(*name, "machine", reader.machines, "MCH-16");
  if (!known) return std::nullopt;
  out.name = *known;
  return out;
}

// MCH-20: the outputs of a list are told apart by name.
void read_machine_list(Reader& reader, const Place& place, State& state, Bound bound) {
  Names seen;
  for (std::size_t i = 0; i < place.value().items.size(); ++i) {
    const Place entry = place.entry(i);
    auto child = read_child(reader, entry, bound);
    if (!child) continue;
    if (!seen.insert(child->name).second) {
      reader.findings.violate(
          "MCH-20", entry, fmt::format("the machine {} is in the list already", quote(child->name)),
          "their outputs are told apart by name; foreach runs one many times");
    }
    state.machines.push_back(std::move(*child));
  }
}

void read_machines(Reader& reader, const Place& place, State& state, Bound bound) {
  state.machines_are_list = place.kind() == Kind::list;
  if (state.machines_are_list) return read_machine_list(reader, place, state, bound);
  if (place.kind() == Kind::map) {
    return reader.wrong(place, "machine", "a name or a list of names or of {name, input}");
  }
  auto name = reader.name(place, "machine", reader.machines, "MCH-16");
  if (name) state.machines.push_back({.name = std::move(*name)});
}

std::vector<std::string> read_launch(Reader& reader, const Place& place) {
  std::vector<std::string> out;
  const auto take = [&](const Place& one) {
    if (auto name = reader.name(one, "launch", reader.machines, "MCH-16")) {
      out.push_back(std::move(*name));
    }
  };
  if (place.kind() != Kind::list) {
    take(place);
    return out;
  }
  for (std::size_t i = 0; i < place.value().items.size(); ++i) take(place.entry(i));
  return out;
}

void read_foreach(Reader& reader, const Place& place, State& state) {
  if (const auto as = place.find("as")) {
    const auto name = reader.text(*as, "as");
    if (name && is_identifier(*name)) {
      state.item_name = *name;
    } else if (name) {
      reader.wrong(*as, "as", "a name of letters, digits and _");
    }
  }
  if (const auto list = place.find("foreach")) {
    if (list->kind() == Kind::list) {
      state.foreach = read_template(reader, *list);
    } else {
      state.foreach = read_template_text(reader, *list, "foreach");
    }
  }
  if (const auto key = place.find("key")) {
    state.key = read_template_text(reader, *key, "key", bound_names(place, state));
  }
}

using yaml::Kind;

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
constexpr int kMostCalls = 1'000'000;

constexpr std::array<std::string_view, 8> kExecutionKeys = {
    "type",      "backoffs", "jitter",         "retry_on_empty",
    "n_samples", "k_margin", "max_candidates", "max_response_tokens"};
constexpr std::array<std::string_view, 4> kExecutionTypes = {"default", "retry", "parallel",
                                                             "mdap_voting"};

constexpr std::array<std::string_view, 7> kLoopKeys = {
    "max_turns", "max_tool_calls", "tool_timeout", "total_timeout",
    "max_cost",  "allowed_tools",  "denied_tools"};

std::vector<double> read_backoffs(Reader& reader, const Place& place) {
  std::vector<double> out;
  if (!reader.is_list(place, "backoffs")) return out;
  for (std::size_t i = 0; i < place.value().items.size(); ++i) {
    const auto seconds = reader.number(place.entry(i), "a backoff", 0, kUnbounded);
    if (seconds) out.push_back(*seconds);
  }
  return out;
}

void read_count(Reader& reader, const Place& map, std::string_view key, int& out) {
  const auto place = map.find(key);
  if (!place) return;
  if (const auto count = reader.integer(*place, key, 1, kMostCalls)) out = static_cast<int>(*count);
}

// A number, also when it was written as a text; nothing for 0, which is no limit.
std::optional<Template> literal_limit(const Dynamic& value) {
  auto parsed = Template::parse(value);
  return parsed ? std::optional(std::move(*parsed)) : std::nullopt;
}

std::optional<double> number_in(std::string_view text) {
  const std::string_view digits = trimmed(text);
  double out = 0;
  const auto [stop, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  if (failure != std::errc() || stop != digits.data() + digits.size()) return std::nullopt;
  return out;
}

std::optional<Template> read_limit(Reader& reader, const Place& map, std::string_view key,
                                   bool is_count) {
  const auto place = map.find(key);
  if (!place) return std::nullopt;
  const yaml::Node& node = place->value();
  if (node.kind == Kind::string) {
    if (is_dynamic(node.text)) return read_template(reader, *place);
    const auto number = number_in(node.text);
    if (number && *number >= 0 && *number < kUnbounded) {
      return *number > 0 ? literal_limit(*number) : std::nullopt;
    }
    reader.wrong(*place, key, "a number, at least 0, or a template of one");
    return std::nullopt;
  }
  if (is_count) {
    const auto count = reader.integer(*place, key, 0, std::numeric_limits<std::int32_t>::max());
    return count && *count > 0 ? literal_limit(*count) : std::nullopt;
  }
  const auto number = reader.number(*place, key, 0, kUnbounded);
  return number && *number > 0 ? literal_limit(*number) : std::nullopt;
}

std::optional<Template> read_tools(Reader& reader, const Place& map, std::string_view key) {
  const auto place = map.find(key);
  if (!place) return std::nullopt;
  if (place->kind() == Kind::string && is_dynamic(place->value().text)) {
    return read_template(reader, *place);
  }
  if (!reader.is_list(*place, key)) return std::nullopt;
  for (std::size_t i = 0; i < place->value().items.size(); ++i) {
    reader.text(place->entry(i), "a tool");
  }
  return read_template(reader, *place);
}

}  // namespace

void read_agent_call(Reader& reader, const Place& place, State& state) {
  if (const auto agent = place.find("agent")) {
    state.agent = reader.name(*agent, "agent", reader.agents, "MCH-15");
  }
  if (const auto session = place.find("session_id")) {
    state.session_id = read_template_text(reader, *session, "session_id");
  }
  if (const auto execution = place.find("execution")) {
    state.execution = read_execution(reader, *execution);
  }
  if (const auto loop = place.find("tool_loop")) state.tool_loop = read_tool_loop(reader, *loop);
}

void read_children(Reader& reader, const Place& place, State& state) {
  read_foreach(reader, place, state);
  const std::vector<std::string_view> bound = bound_names(place, state);
  if (const auto input = place.find("input")) {
    state.input = read_template_map(reader, *input, "input", bound);
  }
  if (const auto machine = place.find("machine")) read_machines(reader, *machine, state, bound);
  if (const auto mode = place.find("mode")) {
    const auto chosen = reader.word(*mode, "mode", kModes);
    if (chosen) state.mode = *chosen == 0 ? Mode::settled : Mode::any;
  }
  if (const auto launch = place.find("launch")) state.launch = read_launch(reader, *launch);
  if (const auto input = place.find("launch_input")) {
    state.launch_input = read_template_map(reader, *input, "launch_input");
  }
}

std::optional<Execution> read_execution(Reader& reader, const Place& place) {
  if (!reader.is_map(place, "execution")) return std::nullopt;
  reader.refuse_unknown_keys(place, "execution", kExecutionKeys);
  Execution out;
  if (const auto type = place.find("type")) {
    const auto kind = reader.word(*type, "the type of an execution", kExecutionTypes);
    if (kind) out.kind = static_cast<ExecutionKind>(*kind);
  }
  if (const auto backoffs = place.find("backoffs")) out.backoffs = read_backoffs(reader, *backoffs);
  if (const auto jitter = place.find("jitter")) {
    out.jitter = reader.number(*jitter, "jitter", 0, 1).value_or(out.jitter);
  }
  if (const auto empty = place.find("retry_on_empty")) {
    out.retry_on_empty = reader.boolean(*empty, "retry_on_empty").value_or(false);
  }
  read_count(reader, place, "n_samples", out.samples);
  read_count(reader, place, "k_margin", out.margin);
  read_count(reader, place, "max_candidates", out.most_candidates);
  if (const auto tokens = place.find("max_response_tokens")) {
    out.most_response_tokens =
        reader.integer(*tokens, "max_response_tokens", 1, std::numeric_limits<std::int64_t>::max());
  }
  return out;
}

std::optional<ToolLoop> read_tool_loop(Reader& reader, const Place& place) {
  if (const auto is_on = boolean_in(place.value())) {
    return *is_on ? std::optional(ToolLoop{}) : std::nullopt;
  }
  if (place.kind() != Kind::map) {
    reader.wrong(place, "tool_loop", "true or a mapping of limits");
    return std::nullopt;
  }
  reader.refuse_unknown_keys(place, "tool_loop", kLoopKeys);
  return ToolLoop{.max_turns = read_limit(reader, place, "max_turns", true),
                  .max_tool_calls = read_limit(reader, place, "max_tool_calls", true),
                  .tool_timeout = read_limit(reader, place, "tool_timeout", false),
                  .total_timeout = read_limit(reader, place, "total_timeout", false),
                  .max_cost = read_limit(reader, place, "max_cost", false),
                  .allowed_tools = read_tools(reader, place, "allowed_tools"),
                  .denied_tools = read_tools(reader, place, "denied_tools")};
}

}  // namespace treaty::machines
