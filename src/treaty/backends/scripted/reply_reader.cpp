// Reads one reply of a script, member by member.
#include <fmt/format.h>

#include <array>

#include "treaty/backends/scripted/script_reader.h"
#include "treaty/base/text.h"

namespace treaty::backends {
namespace {

using yaml::Node;

constexpr std::int64_t kLargest = std::int64_t{1} << 30U;

constexpr std::string_view kPage =
    "<!DOCTYPE html>\n<html>\n<head><title>502 Bad Gateway</title></head>\n<body>\n"
    "<center><h1>502 Bad Gateway</h1></center>\n<hr><center>proxy</center>\n</body>\n</html>\n";

void take_text(ScriptReader& reader, const Node& node, Reply& reply) {
  if (node.kind != yaml::Kind::list) {
    if (auto text = reader.text(node)) reply.text = {std::move(*text)};
    return;
  }
  for (const Node& item : node.items) {
    if (auto text = reader.text(item)) reply.text.push_back(std::move(*text));
  }
  if (node.items.empty()) reply.text = {""};
}

constexpr std::array<ScriptMember<ScriptedToolCall>, 3> kToolCallMembers = {{
    {"name", [](ScriptReader& reader, const Node& node,
                ScriptedToolCall& call) { call.name = reader.text(node).value_or(""); }},
    {"arguments",
     [](ScriptReader& /*reader*/, const Node& node, ScriptedToolCall& call) {
       call.arguments = node.kind == yaml::Kind::string ? node.text : yaml::to_json(node);
     }},
    {"id", [](ScriptReader& reader, const Node& node,
              ScriptedToolCall& call) { call.id = reader.text(node); }},
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

template <auto Member>
void take_tokens(ScriptReader& reader, const Node& node, ScriptedUsage& usage) {
  const auto tokens = reader.integer(node, 0);
  if (tokens) usage.*Member = tokens.value_or(0);
}

constexpr std::array<ScriptMember<ScriptedUsage>, 4> kUsageMembers = {{
    {"input_tokens", take_tokens<&ScriptedUsage::input_tokens>},
    {"output_tokens", take_tokens<&ScriptedUsage::output_tokens>},
    {"cache_read_tokens", take_tokens<&ScriptedUsage::cache_read_tokens>},
    {"cache_write_tokens", take_tokens<&ScriptedUsage::cache_write_tokens>},
}};

// An error and, since it is written there, the exact body of one.
struct ErrorAndBody {
  ScriptedError error{};
  std::optional<std::string> body{};
};

constexpr std::array<ScriptMember<ErrorAndBody>, 5> kErrorMembers = {{
    {"status",
     [](ScriptReader& reader, const Node& node, ErrorAndBody& target) {
       target.error.status = static_cast<int>(reader.integer(node, 400, 599).value_or(500));
     }},
    {"type", [](ScriptReader& reader, const Node& node,
                ErrorAndBody& target) { target.error.type = reader.text(node); }},
    {"code", [](ScriptReader& reader, const Node& node,
                ErrorAndBody& target) { target.error.code = reader.text(node); }},
    {"message", [](ScriptReader& reader, const Node& node,
                   ErrorAndBody& target) { target.error.message = reader.text(node); }},
    {"body", [](ScriptReader& reader, const Node& node,
                ErrorAndBody& target) { target.body = reader.text(node); }},
}};

// `error: 429` is short for `error: {status: 429}`.
void take_error(ScriptReader& reader, const Node& node, Reply& reply) {
  ErrorAndBody target;
  if (node.kind == yaml::Kind::integer) {
    target.error.status = static_cast<int>(reader.integer(node, 400, 599).value_or(500));
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
    {"bytes",
     [](ScriptReader& reader, const Node& node, Garbage& garbage) {
       garbage.bytes = static_cast<std::size_t>(reader.integer(node, 1, kLargest).value_or(1));
     }},
    {"after",
     [](ScriptReader& reader, const Node& node, Garbage& garbage) {
       garbage.after = static_cast<std::size_t>(reader.integer(node, 0, kLargest).value_or(0));
     }},
}};

void take_garbage(ScriptReader& reader, const Node& node, Reply& reply) {
  Garbage garbage;
  if (node.kind == yaml::Kind::integer) {
    garbage.bytes = static_cast<std::size_t>(reader.integer(node, 1, kLargest).value_or(1));
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
void take_word(ScriptReader& reader, const Node& node, Reply& reply) {
  reply.*Member = reader.text(node);
}
template <auto Member>
void take_duration(ScriptReader& reader, const Node& node, Reply& reply) {
  reply.*Member = reader.duration(node).value_or(std::chrono::milliseconds(0));
}
template <auto Member>
void take_point(ScriptReader& reader, const Node& node, Reply& reply) {
  reply.faults.*Member = reader.point(node);
}
template <auto Member>
void take_fault(ScriptReader& reader, const Node& node, Reply& reply) {
  reply.faults.*Member = reader.boolean(node).value_or(false);
}

constexpr std::array<ScriptMember<Reply>, 24> kReplyMembers = {{
    {"text", take_text},
    {"tool_calls", take_tool_calls},
    {"refusal", take_word<&Reply::refusal>},
    {"usage",
     [](ScriptReader& reader, const Node& node, Reply& reply) {
       reader.members<ScriptedUsage>(node, "usage", kUsageMembers, reply.usage.emplace());
     }},
    {"finish_reason", take_word<&Reply::finish_reason>},
    {"model", take_word<&Reply::model>},
    {"error", take_error},
    {"body", take_word<&Reply::body>},
    {"html", take_html},
    {"content_type", take_word<&Reply::content_type>},
    {"status",
     [](ScriptReader& reader, const Node& node, Reply& reply) {
       reply.status = static_cast<int>(reader.integer(node, 200, 599).value_or(200));
     }},
    {"headers", [](ScriptReader& reader, const Node& node,
                   Reply& reply) { read_headers(reader, node, reply.headers); }},
    {"delay", take_duration<&Reply::delay>},
    {"chunk_delay", take_duration<&Reply::chunk_delay>},
    {"chunk_size",
     [](ScriptReader& reader, const Node& node, Reply& reply) {
       reply.chunk_size = static_cast<std::size_t>(reader.integer(node, 1, kLargest).value_or(0));
     }},
    {"cut", take_point<&Faults::cut>},
    {"reset", take_point<&Faults::reset>},
    {"stall", take_point<&Faults::stall>},
    {"garbage", take_garbage},
    {"malformed_chunk", take_malformed},
    {"missing_ids", take_fault<&Faults::missing_ids>},
    {"endless", take_fault<&Faults::endless>},
    {"times",
     [](ScriptReader& reader, const Node& node, Reply& reply) {
       reply.times = static_cast<int>(reader.integer(node, 1, kLargest).value_or(1));
     }},
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
  if (reply.body && (!reply.text.empty() || !reply.tool_calls.empty() || reply.refusal)) {
    reader.note(node, "a reply with an exact body has no room for text, tool_calls or refusal");
  }
  if (static_cast<int>(reply.faults.cut.has_value()) +
          static_cast<int>(reply.faults.reset.has_value()) +
          static_cast<int>(reply.faults.stall.has_value()) >
      1) {
    reader.note(node, "an answer ends once: choose one of cut, reset and stall");
  }
  if (reply.status && *reply.status >= 400 && !reply.body && !reply.error && !reply.text.empty()) {
    reader.note(node, "a reply with text and a status of failure; give it `error` or `body`");
  }
}

bool is_token(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return is_alphanumeric(c) || kMarks.contains(c);
  });
}

}  // namespace

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

}  // namespace treaty::backends
