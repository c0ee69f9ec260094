// Ollama's own protocol: lines of JSON, the last of which says done.
#include "treaty/backends/protocols/protocol.h"
#include "treaty/backends/protocols/render.h"
#include "treaty/backends/protocols/wire.h"
#include "treaty/base/text.h"
#include "treaty/results/usage.h"

namespace treaty::backends {
namespace {

using json::find_member;
using json::find_text;

void read_calls(results::Answer& answer, std::optional<json::Value> calls) {
  if (!calls || !calls->is_array()) return;
  for (const json::Value call : calls->elements()) {
    const auto function = find_member(call, "function");
    auto arguments = arguments_text(find_member(function, "arguments"));
    if (arguments.empty()) arguments = "{}";
    answer.tool_calls.push_back({.id = std::string(find_text(call, "id")),
                                 .name = std::string(find_text(function, "name")),
                                 .arguments = std::move(arguments)});
  }
}

void read_line(results::Answer& answer, json::Value root) {
  if (find_member(root, "error")) note_error(answer, root.source());
  note_model(answer, find_text(root, "model"));
  const auto message = find_member(root, "message");
  answer.content.append(find_text(message, "content"));
  answer.content.append(find_text(root, "response"));  // /api/generate
  read_calls(answer, find_member(message, "tool_calls"));
  const auto done = find_member(root, "done");
  if (!done || !done->is_boolean() || !done->boolean()) return;
  answer.complete = true;
  answer.finish_reason_raw = find_text(root, "done_reason");
  if (auto usage = results::read_ollama_usage(root)) answer.usage = usage;
}

void parse_event(StreamedAnswer& state, std::string_view, std::string_view data) {
  const auto root = read_event(state, data);
  if (!root) return;
  read_line(state.answer, *root);
  state.ended = state.answer.complete;
}

// One object, or the lines of a stream that was kept as a text.
results::Answer parse_response(std::string_view body) {
  const json::Document document(body, wire_reading());
  if (const auto root = document.root(); root && root->is_object()) {
    results::Answer answer;
    read_line(answer, *root);
    return answer;
  }
  StreamedAnswer state;
  for (std::size_t at = 0; at < body.size() && !state.broken && !state.ended;) {
    const Line line = line_at(body, at);
    at = line.next;
    if (!is_blank(line.text)) parse_event(state, {}, line.text);
  }
  return std::move(state.answer);
}

}  // namespace

const Protocol& ollama_native() {
  static constexpr Protocol kProtocol = {.name = "ollama_native",
                                         .framing = Framing::json_lines,
                                         .render_request = render_ollama,
                                         .path = path_of_ollama,
                                         .parse_response = parse_response,
                                         .parse_event = parse_event};
  return kProtocol;
}

}  // namespace treaty::backends
