// Gemini's generateContent: a stream is a list of answers, each holding some more parts.
#include "treaty/backends/protocols/protocol.h"
#include "treaty/backends/protocols/render.h"
#include "treaty/backends/protocols/wire.h"
#include "treaty/results/usage.h"

namespace treaty::backends {
namespace {

using json::find_member;
using json::find_text;

std::optional<json::Value> first_candidate(json::Value root) {
  const auto candidates = find_member(root, "candidates");
  if (!candidates || !candidates->is_array()) return std::nullopt;
  for (const json::Value candidate : candidates->elements()) {
    const auto index = find_member(candidate, "index");
    if (!index || !index->is_number() || index->integer() == 0) return candidate;
  }
  return std::nullopt;
}

bool is_thought(json::Value part) {
  const auto thought = find_member(part, "thought");
  return thought && thought->is_boolean() && thought->boolean();
}

// Calls come whole, and often without an id.
void read_part(results::Answer& answer, json::Value part) {
  if (!is_thought(part)) answer.content.append(find_text(part, "text"));
  const auto call = find_member(part, "functionCall");
  if (!call) return;
  auto arguments = arguments_text(find_member(call, "args"));
  if (arguments.empty()) arguments = "{}";
  answer.tool_calls.push_back({.id = std::string(find_text(call, "id")),
                               .name = std::string(find_text(call, "name")),
                               .arguments = std::move(arguments)});
}

void read_candidate(results::Answer& answer, json::Value candidate) {
  const auto parts = find_member(find_member(candidate, "content"), "parts");
  if (parts && parts->is_array()) {
    for (const json::Value part : parts->elements()) read_part(answer, part);
  }
  const std::string_view reason = find_text(candidate, "finishReason");
  if (reason.empty() || reason == "FINISH_REASON_UNSPECIFIED") return;
  answer.finish_reason_raw = reason;
  answer.complete = true;
}

// A whole answer and a piece of a stream have the same form.
void read_answer(results::Answer& answer, json::Value root) {
  if (!root.is_object()) return;
  if (find_member(root, "error")) note_error(answer, root.source());
  note_model(answer, find_text(root, "modelVersion"));
  if (const auto usage = find_member(root, "usageMetadata")) {
    if (auto read = results::read_gemini_usage(*usage)) answer.usage = read;
  }
  const std::string_view block = find_text(find_member(root, "promptFeedback"), "blockReason");
  if (!block.empty() && block != "BLOCK_REASON_UNSPECIFIED") {
    answer.finish_reason_raw = block;
    answer.prompt_blocked = true;
    answer.complete = true;
  }
  if (const auto candidate = first_candidate(root)) read_candidate(answer, *candidate);
}

results::Answer parse_response(std::string_view body) {
  results::Answer answer;
  const json::Document document(body, wire_reading());
  const auto root = document.root();
  if (!root) return answer;
  if (root->is_array()) {  // A stream that was not asked for as an event stream.
    for (const json::Value piece : root->elements()) read_answer(answer, piece);
    return answer;
  }
  read_answer(answer, *root);
  const auto candidates = find_member(root, "candidates");
  answer.complete = answer.complete || first_candidate(*root) ||
                    (!candidates && find_member(root, "usageMetadata"));
  return answer;
}

void parse_event(StreamedAnswer& state, std::string_view, std::string_view data) {
  if (data == "[DONE]") return;
  const auto root = read_event(state, data);
  if (!root) return;
  read_answer(state.answer, *root);
}

}  // namespace

const Protocol& gemini() {
  static constexpr Protocol kProtocol = {.name = "gemini",
                                         .render_request = render_gemini,
                                         .path = path_of_gemini,
                                         .parse_response = parse_response,
                                         .parse_event = parse_event};
  return kProtocol;
}

}  // namespace treaty::backends
