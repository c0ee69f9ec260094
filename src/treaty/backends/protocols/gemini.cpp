// Gemini's generateContent: a stream is a list of answers, each holding some more parts.
#include "treaty/backends/protocols/gemini_thoughts.h"
#include "treaty/backends/protocols/outgoing.h"
#include "treaty/backends/protocols/request_parts.h"
#include "treaty/http/event_stream.h"
#include "treaty/results/usage.h"

namespace treaty::backends {
namespace {

using json::find_member;
using json::find_text;

std::optional<json::Value> first_candidate(json::Value root) {
  for (const json::Value candidate : json::elements_of(find_member(root, "candidates"))) {
    const auto index = find_member(candidate, "index");
    if (!index || !index->is_number() || index->integer() == 0) return candidate;
  }
  return std::nullopt;
}

// Calls come whole, and often without an id. What can be read of thoughts does not go back unless
// it is signed; the signature of a part does.
void read_part(results::Answer& answer, json::Value part) {
  const std::string_view text = find_text(part, "text");
  const auto call = find_member(part, "functionCall");
  const bool is_thought = is_true(find_member(part, "thought"));
  (is_thought ? answer.thinking : answer.content).append(text);
  const auto signature = find_member(part, "thoughtSignature");
  if (signature && is_thought) {
    add_thought(answer, std::string(part.source()));
  } else if (signature) {
    add_thought(answer,
                call ? gemini_call_thought(*signature) : gemini_text_thought(*signature, text));
  }
  if (!call) return;
  auto& read = answer.tool_calls.emplace_back(
      tool_call(find_text(call, "id"), find_text(call, "name"), find_member(call, "args")));
  if (read.arguments.empty()) read.arguments = "{}";
}

void read_candidate(results::Answer& answer, json::Value candidate) {
  const auto parts = find_member(find_member(candidate, "content"), "parts");
  for (const json::Value part : json::elements_of(parts)) read_part(answer, part);
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
  answer.complete = (answer.complete || first_candidate(*root) ||
                     (!candidates && find_member(root, "usageMetadata"))) &&
                    has_allowed_thoughts(answer);
  return answer;
}

void parse_event(StreamedAnswer& state, std::string_view, std::string_view data) {
  if (data == "[DONE]") return;
  const auto root = read_event(state, data);
  if (!root) return;
  const std::size_t thoughts = state.answer.thoughts.size();
  read_answer(state.answer, *root);
  for (std::size_t i = thoughts; i < state.answer.thoughts.size(); ++i) {
    count_thought(state, state.answer.thoughts[i].json.size());
  }
  if (state.answer.thoughts.size() > kMostThoughts) state.broken = true;
}

// The provider's side: what the functions above read, written.

std::string_view raw_finish(std::string_view reason) {
  if (reason == "stop" || reason == "tool_use") return "STOP";
  if (reason == "length") return "MAX_TOKENS";
  if (reason == "content_filter") return "SAFETY";
  return reason;
}

// A signature is on the first call, else on the text.
void write_call(json::Writer& writer, const OutgoingAnswer& outgoing,
                const OutgoingToolCall& call) {
  writer.begin_object().name("functionCall").begin_object().member("name", call.name);
  writer.name("args").raw(object_or_empty(call.arguments)).end_object();
  const bool is_first = &call == &outgoing.tool_calls.front();
  if (is_first && !outgoing.signature.empty()) {
    writer.member("thoughtSignature", outgoing.signature);
  }
  writer.end_object();
}

void write_text_part(json::Writer& writer, std::string_view text, std::string_view signature = {}) {
  writer.begin_object().member("text", text);
  if (!signature.empty()) writer.member("thoughtSignature", signature);
  writer.end_object();
}

void write_thought(json::Writer& writer, std::string_view text) {
  writer.begin_object().member("text", text).member("thought", true).end_object();
}

std::string_view signature_of_text(const OutgoingAnswer& outgoing) {
  return outgoing.tool_calls.empty() ? std::string_view(outgoing.signature) : std::string_view();
}

// A whole answer or a chunk of one: `write_parts` writes the parts; no finish: it goes on.
template <class WriteParts>
std::string answer_json(const OutgoingAnswer& outgoing, std::string_view finish,
                        const WriteParts& write_parts) {
  json::Writer writer;
  writer.begin_object().name("candidates").begin_array().begin_object();
  writer.name("content").begin_object().name("parts").begin_array();
  write_parts(writer);
  writer.end_array().member("role", "model").end_object();
  if (!finish.empty()) writer.member("finishReason", finish);
  writer.member("index", 0).end_object().end_array();
  writer.name("usageMetadata").begin_object().member("promptTokenCount", outgoing.usage.input);
  if (!finish.empty()) {
    writer.member("candidatesTokenCount", outgoing.usage.output - outgoing.usage.reasoning);
    if (outgoing.usage.reasoning > 0) {
      writer.member("thoughtsTokenCount", outgoing.usage.reasoning);
    }
  }
  writer.member("totalTokenCount",
                outgoing.usage.input + (finish.empty() ? 0 : outgoing.usage.output));
  if (outgoing.usage.cache_read > 0) {
    writer.member("cachedContentTokenCount", outgoing.usage.cache_read);
  }
  writer.end_object().member("modelVersion", outgoing.model);
  if (outgoing.with_ids) writer.member("responseId", outgoing.id);
  return writer.end_object().take();
}

std::string write_answer(const OutgoingAnswer& outgoing) {
  return answer_json(outgoing, raw_finish(outgoing.finish_reason), [&](json::Writer& writer) {
    const std::string text = outgoing.text() + outgoing.refusal;
    if (!outgoing.thinking.empty()) write_thought(writer, outgoing.thinking_text());
    if (!text.empty() || outgoing.tool_calls.empty()) {
      write_text_part(writer, text, signature_of_text(outgoing));
    }
    for (const OutgoingToolCall& call : outgoing.tool_calls) write_call(writer, outgoing, call);
  });
}

std::string write_error(const OutgoingError& error) {
  json::Writer writer;
  writer.begin_object().name("error").begin_object().member("code", error.status);
  writer.member("message", error.message).member("status", error.type).end_object();
  return writer.end_object().take();
}

std::vector<StreamFrame> write_stream(const OutgoingAnswer& outgoing) {
  std::vector<StreamFrame> frames;
  const auto add = [&](const std::string& json, bool is_text) {
    const std::string_view opening = frames.empty() ? "[" : ",\r\n";
    frames.push_back(
        {outgoing.json_array ? std::string(opening) + json : http::event_bytes("", json),
         is_text && !frames.empty()});
  };
  for (const std::string& piece : outgoing.thinking) {
    add(answer_json(outgoing, "", [&](json::Writer& writer) { write_thought(writer, piece); }),
        false);
  }
  for (const std::string& piece : outgoing.pieces) {
    add(answer_json(outgoing, "", [&](json::Writer& writer) { write_text_part(writer, piece); }),
        true);
  }
  if (outgoing.error) {
    add(write_error(*outgoing.error), false);
  } else {
    add(answer_json(outgoing, raw_finish(outgoing.finish_reason),
                    [&](json::Writer& writer) {
                      if (outgoing.tool_calls.empty()) {
                        write_text_part(writer, outgoing.refusal, signature_of_text(outgoing));
                      }
                      for (const OutgoingToolCall& call : outgoing.tool_calls)
                        write_call(writer, outgoing, call);
                    }),
        false);
  }
  if (outgoing.json_array) frames.push_back({"]"});
  return frames;
}

}  // namespace

const Protocol& gemini() {
  static constexpr Protocol kProtocol = {.name = "gemini",
                                         .render_request = render_gemini,
                                         .path_of_call = path_of_gemini,
                                         .parse_response = parse_response,
                                         .parse_event = parse_event,
                                         .read_request = read_gemini,
                                         .write_answer = write_answer,
                                         .write_stream = write_stream,
                                         .write_error = write_error,
                                         .key_header = "x-goog-api-key",
                                         .errors = ErrorStyle::gemini,
                                         .ids = {"", "", ""},
                                         .recorded_name = "generate_content"};
  return kProtocol;
}

}  // namespace treaty::backends
