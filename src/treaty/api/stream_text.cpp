#include "treaty/api/stream_text.h"

#include "treaty/api/invoke_result_renderer.h"
#include "treaty/base/json_write.h"
#include "treaty/http/event_stream.h"

namespace treaty::api {
namespace {

using contracts::spelled;

struct Named {
  std::string_view name;
  std::string data;
};

Named named(const turns::Opening& opening, contracts::Dialect dialect) {
  json::Writer writer;
  writer.begin_object();
  writer.member(spelled("SessionId", dialect), opening.session_id);
  writer.member(spelled("TurnId", dialect), opening.turn_id);
  writer.member(spelled("ModeDisplayName", dialect), opening.mode);
  return {"turn.started", writer.end_object().take()};
}

Named named(const turns::Delta& delta, contracts::Dialect dialect) {
  json::Writer writer;
  writer.begin_object().member(spelled("DeltaText", dialect), delta.text);
  return {"output.delta", writer.end_object().take()};
}

Named named(const std::shared_ptr<const turns::Outcome>& outcome, contracts::Dialect dialect) {
  return {"turn.result", outcome->body_for(invoke_result_renderer(), dialect)};
}

void append_id(std::string& out, std::int64_t id) {
  out.append("id: ").append(std::to_string(id)).append("\n");
}

}  // namespace

bool is_result(const turns::StreamEvent& event) {
  return std::holds_alternative<std::shared_ptr<const turns::Outcome>>(event.what);
}

Headers stream_headers(StreamForm form) {
  // The last one keeps nginx from collecting what shall leave at once.
  return {
      {"content-type", form == StreamForm::lines ? "application/x-ndjson" : "text/event-stream"},
      {"cache-control", "no-store"},
      {"x-accel-buffering", "no"}};
}

void TurnText::append(std::string& out, const turns::StreamEvent& event) {
  form_ == StreamForm::lines ? append_line(out, event) : append_event(out, event);
}

const turns::Outcome* TurnText::begin_result(std::string& out,
                                             const turns::StreamEvent& event) const {
  const auto* result = std::get_if<std::shared_ptr<const turns::Outcome>>(&event.what);
  if (result == nullptr || form_ != StreamForm::events || (*result)->dialect != dialect_ ||
      (*result)->renderer != &invoke_result_renderer() || (*result)->body.contains('\n')) {
    return nullptr;
  }
  append_id(out, event.id);
  out += "event: turn.result\ndata: ";
  return result->get();
}

void TurnText::append_event(std::string& out, const turns::StreamEvent& event) const {
  const Named text =
      std::visit([&](const auto& what) { return named(what, dialect_); }, event.what);
  append_id(out, event.id);
  out += http::event_bytes(text.name, text.data);
}

// The names of these members are the same in both dialects.
void TurnText::append_line(std::string& out, const turns::StreamEvent& event) {
  json::Writer writer;
  writer.begin_object();
  if (const auto* delta = std::get_if<turns::Delta>(&event.what)) {
    writer.member("kind", "partial").member("deltaText", delta->text).member("index", index_++);
  } else if (is_result(event)) {
    const auto& outcome = std::get<std::shared_ptr<const turns::Outcome>>(event.what);
    writer.member("kind", "final").member("index", index_++);
    writer.name("final").raw(outcome->body_for(invoke_result_renderer(), dialect_));
  } else {
    return;  // Who has started stands in the final line.
  }
  out += writer.end_object().take() + "\n";
}

void append_event(std::string& out, const turns::DiaryEvent& event) {
  append_id(out, event.id);
  out += http::event_bytes(event.kind, event.data);
}

}  // namespace treaty::api
