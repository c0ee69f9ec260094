#include "treaty/backends/protocols/rendering/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "treaty/base/hash.h"
#include "treaty/base/json.h"
#include "treaty/base/text.h"

namespace treaty::backends {
namespace {

// Deeper than any schema of use; together with the levels around it still below the 64 that strict
// readers, ours included, allow.
constexpr std::size_t kDeepest = 48;

bool is_allowed(char c, const IdRule& rule) {
  return is_alphanumeric(c) || (rule.dash_and_underscore && (c == '-' || c == '_'));
}

bool is_allowed(std::string_view id, const IdRule& rule) {
  if (id.size() < rule.least || id.size() > rule.most) return false;
  return rule.anything_else || std::ranges::all_of(id, [&](char c) { return is_allowed(c, rule); });
}

// An id that nobody else's id becomes: what is allowed of it, and a digest of all of it.
std::string made_anew(std::string_view id, const IdRule& rule) {
  constexpr std::size_t kDigest = 12;
  Sha256 digest;
  digest.add(id);
  std::string out;
  std::ranges::copy_if(id, std::back_inserter(out), [&](char c) { return is_allowed(c, rule); });
  const std::size_t kept = rule.most > kDigest ? rule.most - kDigest : 0;
  out.resize(std::min(out.size(), kept));
  out += digest.hex().substr(0, kDigest);
  return out.substr(0, rule.most);
}

struct CallPlace {
  std::string original;
  std::string wire;
  bool answered = false;
};

// The result belongs to the first unanswered call of that id in the message before it.
std::string id_for_result(std::vector<CallPlace>& calls, const ToolMessage& result,
                          const IdRule& rule) {
  for (CallPlace& call : calls) {
    if (call.answered || call.original != result.tool_call_id) continue;
    call.answered = true;
    return call.wire;
  }
  return is_allowed(result.tool_call_id, rule) ? result.tool_call_id
                                               : made_anew(result.tool_call_id, rule);
}

void write_setting(json::Writer& writer, std::string_view name, std::optional<double> value) {
  if (value && std::isfinite(*value) && !name.empty()) writer.member(name, *value);
}

void write_setting(json::Writer& writer, std::string_view name, std::optional<std::int64_t> value) {
  if (value && !name.empty()) writer.member(name, *value);
}

}  // namespace

void write_text(json::Writer& writer, std::string_view text) {
  if (is_utf8(text)) {
    writer.value(text);
  } else {
    writer.value(std::string_view(repaired_utf8(text)));
  }
}

void write_text(json::Writer& writer, std::string_view name, std::string_view text) {
  writer.name(name);
  write_text(writer, text);
}

std::string object_or(std::string_view text, std::string_view otherwise) {
  const json::Document document(text, {.max_depth = kDeepest, .max_faults = 1});
  const bool good = document.root() && document.root()->is_object() && document.faults().empty();
  return good ? json::minified(*document.root()) : std::string(otherwise);
}

std::string arguments_object(std::string_view arguments) {
  if (is_blank(arguments)) return "{}";
  std::string object = object_or(arguments, "");
  if (!object.empty()) return object;
  json::Writer writer;
  writer.begin_object();
  write_text(writer, "text", arguments);
  return writer.end_object().take();
}

std::string parameters_of(const Tool& tool) {
  return object_or(tool.parameters_json, R"({"type":"object","properties":{}})");
}

std::string data_url(const ImagePart& image) {
  return fmt::format("data:{};base64,{}", image.media_type, image.base64);
}

std::string joined_text(const UserMessage& message) {
  std::string out;
  for (const Part& part : message.parts) {
    const auto* text = std::get_if<TextPart>(&part);
    if (text == nullptr) continue;
    if (!out.empty()) out.push_back('\n');
    out += text->text;
  }
  return out;
}

void write_settings(json::Writer& writer, const Call& call, const SettingNames& names) {
  const Sampling& sampling = call.sampling;
  write_setting(writer, names.max_tokens, call.max_output_tokens);
  write_setting(writer, names.temperature, call.temperature);
  write_setting(writer, names.top_p, sampling.top_p);
  write_setting(writer, names.top_k, sampling.top_k);
  write_setting(writer, names.frequency_penalty, sampling.frequency_penalty);
  write_setting(writer, names.presence_penalty, sampling.presence_penalty);
  write_setting(writer, names.seed, sampling.seed);
  if (call.stop.empty() || names.stop.empty()) return;
  writer.name(names.stop).begin_array();
  for (const std::string& stop : call.stop) write_text(writer, stop);
  writer.end_array();
}

void write_function_tools(json::Writer& writer, const std::vector<Tool>& tools) {
  if (tools.empty()) return;
  writer.name("tools").begin_array();
  for (const Tool& tool : tools) {
    writer.begin_object().member("type", "function").name("function").begin_object();
    write_text(writer, "name", tool.name);
    if (!tool.description.empty()) write_text(writer, "description", tool.description);
    writer.name("parameters").raw(parameters_of(tool));
    writer.end_object().end_object();
  }
  writer.end_array();
}

ToolIds::ToolIds(const Messages& messages, const IdRule& rule) : ids_(messages.size()) {
  std::vector<CallPlace> calls;  // Of the assistant's last message.
  std::set<std::string> used;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (const auto* assistant = std::get_if<AssistantMessage>(&messages[i])) {
      calls.clear();
      for (const contracts::AgentToolCall& call : assistant->tool_calls) {
        std::string id = is_allowed(call.id, rule) ? call.id : made_anew(call.id, rule);
        // An id that stood for another call before, or none at all: the place tells them apart.
        for (std::size_t n = 1; call.id.empty() || used.contains(id); ++n) {
          id = made_anew(fmt::format("{} {} {} {}", call.id, i, calls.size(), n), rule);
          if (!used.contains(id)) break;
        }
        used.insert(id);
        ids_[i].push_back(id);
        calls.push_back({call.id, id});
      }
    } else if (const auto* result = std::get_if<ToolMessage>(&messages[i])) {
      ids_[i].push_back(id_for_result(calls, *result, rule));
    }
  }
}

json::Writer& RoleTurns::part(std::string_view role) {
  if (role != role_) {
    close();
    writer_.begin_object().member("role", role).name(list_).begin_array();
    role_ = role;
  }
  return writer_.begin_object();
}

void RoleTurns::close() {
  if (!role_.empty()) writer_.end_array().end_object();
  role_ = {};
}

}  // namespace treaty::backends
