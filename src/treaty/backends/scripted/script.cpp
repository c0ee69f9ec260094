#include "treaty/backends/scripted/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <span>

#include "treaty/base/text.h"
#include "treaty/base/yaml_reader.h"

namespace treaty::backends {
namespace {

using yaml::Node;

constexpr std::chrono::milliseconds kLongestDelay = std::chrono::hours(1);

std::optional<double> milliseconds_in(std::string_view unit) {
  if (unit.empty() || unit == "ms") return 1;
  if (unit == "s") return 1'000;
  if (unit == "m") return 60'000;
  return std::nullopt;
}

// Reads as every YAML file is read, and durations and points in an answer.
class ScriptReader final : public yaml::Reader {
 public:
  std::optional<std::chrono::milliseconds> duration(const yaml::Node& node);
  std::optional<Point> point(const yaml::Node& node);
};

template <class Target>
using ScriptMember = yaml::MemberReader<ScriptReader, Target>;

std::optional<std::chrono::milliseconds> ScriptReader::duration(const yaml::Node& node) {
  const std::string_view text = node.text;
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, number);
  const auto unit = milliseconds_in(trimmed({stop, static_cast<std::size_t>(end - stop)}));
  if (!node.is_scalar() || failure != std::errc() || !unit || !(number >= 0) ||
      number * *unit > static_cast<double>(kLongestDelay.count())) {
    note(node, "expected a duration up to an hour: 250ms, 1.5s, 2m, or a number of milliseconds");
    return std::nullopt;
  }
  return std::chrono::milliseconds(static_cast<std::int64_t>(number * *unit));
}

std::optional<Point> ScriptReader::point(const yaml::Node& node) {
  if (node.kind == yaml::Kind::string && node.text == "head") return Point{.before_head = true};
  if (node.kind == yaml::Kind::integer && node.integer >= 0) {
    return Point{.body_bytes = static_cast<std::size_t>(node.integer)};
  }
  note(node, "expected a number of body bytes, or `head` for before the first byte");
  return std::nullopt;
}

constexpr std::int64_t kLargest = std::int64_t{1} << 30U;
constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();

constexpr std::string_view kPage =
    "<!DOCTYPE html>\n<html>\n<head><title>502 Bad Gateway</title></head>\n<body>\n"
    "<center><h1>502 Bad Gateway</h1></center>\n<hr><center>proxy</center>\n</body>\n</html>\n";

// One text, or a list of them.
void add_texts(ScriptReader& reader, const Node& node, std::vector<std::string>& texts) {
  for (const Node& item :
       node.kind == yaml::Kind::list ? std::span(node.items) : std::span(&node, 1)) {
    if (auto text = reader.text(item)) texts.push_back(std::move(*text));
  }
}

void take_pieces(ScriptReader& reader, const Node& node, Reply& reply) {
  add_texts(reader, node, reply.text);
  if (node.kind == yaml::Kind::list && node.items.empty()) reply.text = {""};
}

void take_thinking(ScriptReader& reader, const Node& node, Reply& reply) {
  add_texts(reader, node, reply.thinking);
}

constexpr std::array<ScriptMember<ScriptedToolCall>, 3> kToolCallMembers = {{
    {"name", yaml::take_text<&ScriptedToolCall::name>},
    {"arguments",
     [](ScriptReader& /*reader*/, const Node& node, ScriptedToolCall& call) {
       call.arguments = node.kind == yaml::Kind::string ? node.text : yaml::to_json(node);
     }},
    {"id", yaml::take_text<&ScriptedToolCall::id>},
}};

void take_tool_calls(ScriptReader& reader, const Node& node, Reply& reply) {
  if (!reader.is_list(node, "tool calls")) return;
  for (const Node& item : node.items) {
    ScriptedToolCall call;
    reader.members<ScriptedToolCall>(item, "a tool call", kToolCallMembers, call);
    if (call.name.empty() && item.kind == yaml::Kind::map) {
      reader.note(item, "a tool call needs a `name`");
    }
    reply.tool_calls.push_back(std::move(call));
  }
}

constexpr std::array<ScriptMember<ScriptedUsage>, 4> kUsageMembers = {{
    {"input_tokens", yaml::take_integer<0, kUnbounded, &ScriptedUsage::input_tokens>},
    {"output_tokens", yaml::take_integer<0, kUnbounded, &ScriptedUsage::output_tokens>},
    {"cache_read_tokens", yaml::take_integer<0, kUnbounded, &ScriptedUsage::cache_read_tokens>},
    {"cache_write_tokens", yaml::take_integer<0, kUnbounded, &ScriptedUsage::cache_write_tokens>},
}};

// An error and, since it is written there, the exact body of one.
struct ErrorAndBody {
  ScriptedError error{};
  std::optional<std::string> body{};
};

constexpr decltype(ScriptMember<ErrorAndBody>::take) take_error_status =
    yaml::take_integer<400, 599, &ErrorAndBody::error, &ScriptedError::status>;

constexpr std::array<ScriptMember<ErrorAndBody>, 5> kErrorMembers = {{
    {"status", take_error_status},
    {"type", yaml::take_text<&ErrorAndBody::error, &ScriptedError::type>},
    {"code", yaml::take_text<&ErrorAndBody::error, &ScriptedError::code>},
    {"message", yaml::take_text<&ErrorAndBody::error, &ScriptedError::message>},
    {"body", yaml::take_text<&ErrorAndBody::body>},
}};

// `error: 429` is short for `error: {status: 429}`.
void take_error(ScriptReader& reader, const Node& node, Reply& reply) {
  ErrorAndBody target;
  if (node.kind == yaml::Kind::integer) {
    take_error_status(reader, node, target);
  } else {
    reader.members<ErrorAndBody>(node, "an error", kErrorMembers, target);
  }
  if (target.body) {
    reply.body = std::move(target.body);
    reply.status = target.error.status;
  }
  reply.error = std::move(target.error);
}

constexpr std::array<ScriptMember<Garbage>, 2> kGarbageMembers = {{
    {"bytes", yaml::take_integer<1, kLargest, &Garbage::bytes>},
    {"after", yaml::take_integer<0, kLargest, &Garbage::after>},
}};

void take_garbage(ScriptReader& reader, const Node& node, Reply& reply) {
  Garbage garbage;
  if (node.kind == yaml::Kind::integer) {
    yaml::take_integer<1, kLargest, &Garbage::bytes>(reader, node, garbage);
  } else {
    reader.members<Garbage>(node, "garbage", kGarbageMembers, garbage);
    if (garbage.bytes == 0) garbage.bytes = 64;
  }
  reply.faults.garbage = garbage;
}

// `true` is short for `framing`.
void take_malformed(ScriptReader& reader, const Node& node, Reply& reply) {
  if (node.text == "framing" || (node.kind == yaml::Kind::boolean && node.boolean)) {
    reply.faults.malformed = Malformed::framing;
  } else if (node.text == "json") {
    reply.faults.malformed = Malformed::json;
  } else if (node.kind != yaml::Kind::boolean) {
    reader.note(node, "expected `framing` or `json`");
  }
}

void take_html(ScriptReader& reader, const Node& node, Reply& reply) {
  reply.content_type = reply.content_type.value_or("text/html");
  if (node.kind == yaml::Kind::boolean) {
    if (node.boolean) reply.body = kPage;
  } else {
    reply.body = reader.text(node);
  }
}

template <auto Member>
void take_duration(ScriptReader& reader, const Node& node, Reply& reply) {
  reply.*Member = reader.duration(node).value_or(std::chrono::milliseconds(0));
}
template <auto Member>
void take_point(ScriptReader& reader, const Node& node, Reply& reply) {
  reply.faults.*Member = reader.point(node);
}

bool is_token(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return is_alphanumeric(c) || kMarks.contains(c);
  });
}

void read_headers(ScriptReader& reader, const Node& node, Headers& headers) {
  if (!reader.is_map(node, "headers")) return;
  for (const auto& [name, value] : node.members) {
    const auto text = reader.text(value);
    if (!is_token(name.text)) {
      reader.note(name, "this is no name of a header");
    } else if (equal_folded(name.text, "content-length") ||
               equal_folded(name.text, "transfer-encoding")) {
      reader.note(name, "the server frames the answer itself; for broken framing there are faults");
    } else if (text && has_control_character(*text)) {
      reader.note(value, "a header's value is one line of text");
    } else if (text) {
      headers.set(folded(name.text), *text);
    }
  }
}

constexpr std::array<ScriptMember<Reply>, 25> kReplyMembers = {{
    {"text", take_pieces},
    {"thinking", take_thinking},
    {"tool_calls", take_tool_calls},
    {"refusal", yaml::take_text<&Reply::refusal>},
    {"usage",
     [](ScriptReader& reader, const Node& node, Reply& reply) {
       reader.members<ScriptedUsage>(node, "usage", kUsageMembers, reply.usage.emplace());
     }},
    {"finish_reason", yaml::take_text<&Reply::finish_reason>},
    {"model", yaml::take_text<&Reply::model>},
    {"error", take_error},
    {"body", yaml::take_text<&Reply::body>},
    {"html", take_html},
    {"content_type", yaml::take_text<&Reply::content_type>},
    {"status", yaml::take_integer<200, 599, &Reply::status>},
    {"headers", [](ScriptReader& reader, const Node& node,
                   Reply& reply) { read_headers(reader, node, reply.headers); }},
    {"delay", take_duration<&Reply::delay>},
    {"chunk_delay", take_duration<&Reply::chunk_delay>},
    {"chunk_size", yaml::take_integer<1, kLargest, &Reply::chunk_size>},
    {"cut", take_point<&Faults::cut>},
    {"reset", take_point<&Faults::reset>},
    {"stall", take_point<&Faults::stall>},
    {"garbage", take_garbage},
    {"malformed_chunk", take_malformed},
    {"missing_ids", yaml::take_boolean<&Reply::faults, &Faults::missing_ids>},
    {"endless", yaml::take_boolean<&Reply::faults, &Faults::endless>},
    {"times", yaml::take_integer<1, kLargest, &Reply::times>},
    {"when", [](ScriptReader& /*reader*/, const Node& /*node*/, Reply& /*reply*/) {}},
}};

bool says_something(const Reply& reply) {
  const Faults& faults = reply.faults;
  return !reply.text.empty() || !reply.tool_calls.empty() || reply.refusal || reply.error ||
         reply.body || faults.garbage || faults.cut || faults.reset || faults.stall ||
         faults.endless;
}

// What a member by itself cannot know.
void check_whole(ScriptReader& reader, const Node& node, const Reply& reply) {
  if (!says_something(reply)) {
    reader.note(node, "this reply says nothing; give it text, tool_calls, error, body or a fault");
  }
  if (reply.body && (!reply.text.empty() || !reply.tool_calls.empty() || reply.refusal ||
                     !reply.thinking.empty())) {
    reader.note(node,
                "a reply with an exact body has no room for text, thinking, tool_calls or refusal");
  }
  const std::array ends = {reply.faults.cut, reply.faults.reset, reply.faults.stall};
  if (std::ranges::count(ends, true, &std::optional<Point>::has_value) > 1) {
    reader.note(node, "an answer ends once: choose one of cut, reset and stall");
  }
  if (reply.status && *reply.status >= 400 && !reply.body && !reply.error && !reply.text.empty()) {
    reader.note(node, "a reply with text and a status of failure; give it `error` or `body`");
  }
}

// The reply that `node` holds, checked as a whole. A rule's `when` is passed over.
Reply read_reply(ScriptReader& reader, const Node& node) {
  Reply reply;
  if (node.kind == yaml::Kind::string) {  // `- Hello.` is short for `- text: Hello.`
    reply.text = {node.text};
    return reply;
  }
  reader.members<Reply>(node, "a reply", kReplyMembers, reply);
  if (node.kind == yaml::Kind::map) check_whole(reader, node, reply);
  return reply;
}

void take_parts(ScriptReader& reader, const Node& node, Condition& when) {
  if (node.kind == yaml::Kind::list && node.items.empty()) {
    reader.note(node, "the list is empty; leave it out");
  }
  add_texts(reader, node, when.user_contains);
}

constexpr std::array<ScriptMember<Condition>, 9> kConditionMembers = {{
    {"user_contains", take_parts},
    {"user", yaml::take_text<&Condition::user>},
    {"model", yaml::take_text<&Condition::model>},
    {"path", yaml::take_text<&Condition::path>},
    {"call", yaml::take_integer<1, kUnbounded, &Condition::call>},
    {"stream", yaml::take_boolean<&Condition::stream>},
    {"file", yaml::take_boolean<&Condition::file>},
    {"tools", yaml::take_boolean<&Condition::tools>},
    {"tool_results", yaml::take_boolean<&Condition::tool_results>},
}};

void take_rules(ScriptReader& reader, const Node& node, Script& script) {
  if (!reader.is_list(node, "rules")) return;
  for (const Node& item : node.items) {
    Rule rule{.reply = read_reply(reader, item)};
    const Node* when = item.kind == yaml::Kind::map ? item.find("when") : nullptr;
    if (when != nullptr) {
      reader.members<Condition>(*when, "when", kConditionMembers, rule.when);
    } else if (item.kind == yaml::Kind::map) {
      reader.note(item, "a rule needs `when`; what always answers stands under `replies`");
    }
    if (item.find("times") != nullptr) rule.times = rule.reply.times;
    script.rules.push_back(std::move(rule));
  }
}

void take_replies(ScriptReader& reader, const Node& node, Script& script) {
  if (!reader.is_list(node, "replies")) return;
  if (node.items.empty()) reader.note(node, "the list of replies is empty; leave it out");
  for (const Node& item : node.items) {
    if (item.kind == yaml::Kind::map && item.find("when") != nullptr) {
      reader.note(*item.find("when"), "only rules have `when`; move this reply to `rules`");
    }
    script.replies.push_back(read_reply(reader, item));
  }
}

void take_models(ScriptReader& reader, const Node& node, Script& script) {
  if (reader.is_list(node, "models")) add_texts(reader, node, script.models);
}

constexpr std::array<ScriptMember<Script>, 7> kScriptMembers = {{
    {"replies", take_replies},
    {"rules", take_rules},
    {"loop", yaml::take_boolean<&Script::loop>},
    {"key", yaml::take_text<&Script::key>},
    {"models", take_models},
    {"headers", [](ScriptReader& reader, const Node& node,
                   Script& script) { read_headers(reader, node, script.headers); }},
    {"version",
     [](ScriptReader& reader, const Node& node, Script& /*script*/) {
       if (node.text != "1") reader.note(node, "this program reads scripts of version 1");
     }},
}};

}  // namespace

std::expected<Script, std::vector<Diagnostic>> read_script(std::string_view text) {
  const auto root = yaml::read(text);
  if (!root) return std::unexpected(std::vector{diagnostic_of(root.error())});
  Script script;
  ScriptReader reader;
  if (root->kind == yaml::Kind::list) {
    take_replies(reader, *root, script);
  } else {
    reader.members<Script>(*root, "a script", kScriptMembers, script);
  }
  auto problems = reader.take_problems();
  if (problems.empty() && script.is_empty() && script.headers.empty() && !script.key &&
      script.models.empty()) {
    problems.push_back({.line = root->line,
                        .column = root->column,
                        .message = "the script is empty; give it `replies`"});
  }
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return script;
}

}  // namespace treaty::backends
