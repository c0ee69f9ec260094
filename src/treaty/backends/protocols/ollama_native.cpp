// Ollama's own protocol: lines of JSON, the last of which says done. A thought is {"thinking": …}
// and stands before the text.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include "treaty/backends/protocols/outgoing.h"
#include "treaty/backends/protocols/request_parts.h"
#include "treaty/base/text.h"
#include "treaty/results/usage.h"

namespace treaty::backends {
namespace {

using json::find_member;
using json::find_text;

void read_calls(results::Answer& answer, std::optional<json::Value> calls) {
  for (const json::Value call : json::elements_of(calls)) {
    const auto function = find_member(call, "function");
    auto& read = answer.tool_calls.emplace_back(tool_call(
        find_text(call, "id"), find_text(function, "name"), find_member(function, "arguments")));
    if (read.arguments.empty()) read.arguments = "{}";
  }
}

constexpr std::int64_t kThought = -2;  // What an open thought is known by.

// What a line of a stream has of the thought.
void read_thinking(StreamedAnswer& state, std::string_view text) {
  if (text.empty()) return;
  StreamedAnswer::OpenThought* open = find_open_thought(state, kThought);
  if (open == nullptr) {
    open = open_thought(state, kThought);
    if (open == nullptr) return;
    state.breaks_thinking = false;
    state.answer.thoughts[open->position] = {};
  }
  open->object.append("thinking", text);
  count_thought(state, text.size());
}

void read_line(results::Answer& answer, json::Value root) {
  if (find_member(root, "error")) note_error(answer, root.source());
  note_model(answer, find_text(root, "model"));
  const auto message = find_member(root, "message");
  answer.thinking.append(find_text(message, "thinking"));
  answer.thinking.append(find_text(root, "thinking"));  // /api/generate
  answer.content.append(find_text(message, "content"));
  answer.content.append(find_text(root, "response"));  // /api/generate
  read_calls(answer, find_member(message, "tool_calls"));
  if (!is_true(find_member(root, "done"))) return;
  answer.complete = true;
  answer.finish_reason_raw = find_text(root, "done_reason");
  if (auto usage = results::read_ollama_usage(root)) answer.usage = usage;
}

void parse_event(StreamedAnswer& state, std::string_view, std::string_view data) {
  const auto root = read_event(state, data);
  if (!root) return;
  read_thinking(state, find_text(find_member(root, "message"), "thinking"));
  read_line(state.answer, *root);
  state.ended = state.answer.complete;
}

// One object, or the lines of a stream that was kept as a text.
results::Answer parse_response(std::string_view body) {
  const json::Document document(body, wire_reading());
  if (const auto root = document.root(); root && root->is_object()) {
    results::Answer answer;
    const auto thinking = find_member(find_member(root, "message"), "thinking");
    if (thinking && thinking->is_string() && !thinking->text().empty()) {
      add_thought(answer, object_of("thinking", *thinking));
    }
    read_line(answer, *root);
    answer.complete = answer.complete && has_allowed_thoughts(answer);
    return answer;
  }
  StreamedAnswer state;
  for (std::size_t at = 0; at < body.size() && !state.broken && !state.ended;) {
    const Line line = line_at(body, at);
    at = line.next;
    if (!is_blank(line.text)) parse_event(state, {}, line.text);
  }
  close_thoughts(state);
  return std::move(state.answer);
}

// The provider's side: what the functions above read, written.

// One line; `calls` are given in the line before the last.
std::string line_json(const OutgoingAnswer& outgoing, std::string_view text, bool with_calls,
                      bool done, std::string_view thinking = {}) {
  json::Writer writer;
  const auto time = static_cast<std::time_t>(outgoing.created);
  writer.begin_object().member("model", outgoing.model);
  writer.member("created_at", fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", fmt::gmtime(time)));
  writer.name("message").begin_object().member("role", "assistant").member("content", text);
  if (!thinking.empty()) writer.member("thinking", thinking);
  if (with_calls && !outgoing.tool_calls.empty()) {
    writer.name("tool_calls").objects(outgoing.tool_calls, [&](const OutgoingToolCall& call) {
      writer.name("function").begin_object().member("name", call.name);
      writer.name("arguments").raw(object_or_empty(call.arguments)).end_object();
    });
  }
  writer.end_object();
  if (done) {
    const bool is_call = outgoing.finish_reason == "tool_use";
    writer.member("done_reason", is_call ? "stop" : std::string_view(outgoing.finish_reason));
  }
  writer.member("done", done);
  if (done) {
    writer.member("total_duration", 1'000'000).member("load_duration", 100'000);
    writer.member("prompt_eval_count", outgoing.usage.input)
        .member("prompt_eval_duration", 100'000);
    writer.member("eval_count", outgoing.usage.output).member("eval_duration", 800'000);
  }
  return writer.end_object().take() + "\n";
}

std::string write_answer(const OutgoingAnswer& outgoing) {
  return line_json(outgoing, outgoing.text() + outgoing.refusal, true, true,
                   outgoing.thinking_text());
}

std::string write_error(const OutgoingError& error) {
  json::Writer writer;
  return writer.begin_object().member("error", error.message).end_object().take();
}

std::vector<StreamFrame> write_stream(const OutgoingAnswer& outgoing) {
  std::vector<StreamFrame> frames;
  frames.reserve(outgoing.thinking.size() + outgoing.pieces.size() + 4);
  for (const std::string& piece : outgoing.thinking) {
    frames.push_back({line_json(outgoing, "", false, false, piece)});
  }
  for (const std::string& piece : outgoing.pieces) {
    frames.push_back({line_json(outgoing, piece, false, false), true});
  }
  if (!outgoing.refusal.empty())
    frames.push_back({line_json(outgoing, outgoing.refusal, false, false)});
  if (!outgoing.tool_calls.empty()) frames.push_back({line_json(outgoing, "", true, false)});
  frames.push_back({outgoing.error ? write_error(*outgoing.error) + "\n"
                                   : line_json(outgoing, "", false, true)});
  return frames;
}

}  // namespace

const Protocol& ollama_native() {
  static constexpr Protocol kProtocol = {.name = "ollama_native",
                                         .framing = Framing::json_lines,
                                         .render_request = render_ollama,
                                         .fixed_path = "/api/chat",
                                         .parse_response = parse_response,
                                         .parse_event = parse_event,
                                         .read_request = read_ollama,
                                         .write_answer = write_answer,
                                         .write_stream = write_stream,
                                         .write_error = write_error,
                                         .stream_type = "application/x-ndjson"};
  return kProtocol;
}

}  // namespace treaty::backends
