#include "treaty/turns/views/assistant_view.h"

#include <algorithm>
#include <array>

#include "treaty/assistant/composer.h"
#include "treaty/base/hash.h"
#include "treaty/base/ids.h"
#include "treaty/base/json_write.h"
#include "treaty/base/text.h"
#include "treaty/turns/seal.h"
#include "treaty/turns/settled_turn.h"

namespace treaty::turns {
namespace {

using store::TurnState;

struct Phrase {
  std::string_view code;
  std::string_view words;  // Behind "Failed to execute task: ", before a full stop.
};
constexpr std::array kPhrases = std::to_array<Phrase>({
    {"rate_limit", "too many requests at the moment"},
    {"timeout", "no answer came in time"},
    {"server_error", "the service had a temporary problem"},
    {"auth_error", "the service is not set up correctly"},
    {"invalid_request", "the request could not be handled"},
    {"content_filter", "the answer was withheld by a content filter"},
    {"context_length", "the request is too long"},
    {"model_unavailable", "the service is not available at the moment"},
    {"max_rounds", "too many steps were needed"},
    {"tool_results_mismatch", "the results of the tools did not match what was asked for"},
    {"budget_exhausted", "the budget is used up"},
    {"overloaded", "the service is busy at the moment"},
    {"store_unavailable", "the service is not available at the moment"},
    {"turn_cancelled", "the request was cancelled"},
    {"turn_expired", "the results of the tools did not come in time"},
    {"internal", "the service had an internal problem"},
});

std::string_view phrase_of(const store::Turn& turn) {
  if (turn.state == TurnState::cancelled) return "the request was cancelled";
  if (turn.state == TurnState::expired) return "the results of the tools did not come in time";
  const auto* phrase = std::ranges::find(kPhrases, turn.error_code, &Phrase::code);
  return phrase == kPhrases.end() ? std::string_view("an unknown problem") : phrase->words;
}

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

// As the first entry of the turn's diary has it; empty when the request named none.
std::string journalled_trace_id(const store::TurnRecord& record) {
  if (record.rounds.empty()) return {};
  const std::string_view events = record.rounds.front().request.events;
  const json::Document line(events.substr(0, events.find('\n')));
  return std::string(json::find_text(json::find_member(line.root(), "data"), "TraceId"));
}

// A TurnId is unique only in its session. RFC 9562, version 8: a UUID of one's own making.
std::string derived_trace_id(const store::Room& room, const store::Turn& turn) {
  Sha256 digest;
  for (const std::string_view part :
       {std::string_view(room.tenant), std::string_view(room.session_id),
        std::string_view(turn.turn_id)}) {
    digest.add(std::to_string(part.size()) + ":");
    digest.add(part);
  }
  digest.add(std::to_string(turn.created_at));  // Another turn of that name, after a deletion.
  std::string hex = digest.hex().substr(0, 32);
  hex[12] = '8';
  hex[16] = "89ab"[static_cast<unsigned char>(hex[16]) % 4];
  return hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-" + hex.substr(12, 4) + "-" +
         hex.substr(16, 4) + "-" + hex.substr(20);
}

// Whether the answer of a completed turn is the sentence that stands for an empty one.
bool said_nothing(const store::TurnRecord& record) {
  if (record.rounds.empty() || !record.rounds.back().answer) return false;
  const store::AnswerRecord& answer = *record.rounds.back().answer;
  const auto settled = decode_settled_turn(answer.result, answer.transcript);
  const auto* final = settled ? std::get_if<contracts::FinalResponse>(&settled->answer) : nullptr;
  return final != nullptr && final->primary_output_text == seal({}).text;
}

// The composer's input.
std::string status_of(const store::TurnRecord& record, std::string_view trace_id) {
  const store::Turn& turn = record.turn;
  json::Writer writer;
  writer.begin_object().name("execution_status").begin_object();
  switch (turn.state) {
    case TurnState::completed:
      if (said_nothing(record)) writer.member("status", "clarification_needed");
      break;
    case TurnState::accepted: writer.member("deferred", true); break;
    case TurnState::awaiting_tools:
      writer.member("status", "clarification_needed");
      writer.member("clarification_prompt", "The results of tools are still awaited.");
      break;
    case TurnState::failed:
    case TurnState::cancelled:
    case TurnState::expired:
      writer.member("status", "error").member("error", phrase_of(turn));
      break;
  }
  writer.member("trace_id", trace_id);
  return writer.end_object().end_object().take();
}

}  // namespace

// 00-<32 hex>-<16 hex>-<2 hex>; later versions may have more behind it. All zeros are no id.
std::string_view trace_id_of(std::string_view traceparent) {
  constexpr std::size_t kShape = 55;
  if (traceparent.size() < kShape) return {};
  const std::string_view version = traceparent.substr(0, 2);
  const std::string_view trace = traceparent.substr(3, 32);
  const std::string_view parent = traceparent.substr(36, 16);
  const std::string_view flags = traceparent.substr(53, 2);
  const bool dashes = traceparent[2] == '-' && traceparent[35] == '-' && traceparent[52] == '-';
  const bool ends = traceparent.size() == kShape || (version != "00" && traceparent[kShape] == '-');
  const auto is_id = [](std::string_view id) {
    return is_hex(id) && id.find_first_not_of('0') != std::string_view::npos;
  };
  const bool good = dashes && ends && is_hex(version) && version != "ff" && is_id(trace) &&
                    is_id(parent) && is_hex(flags);
  return good ? trace : std::string_view();
}

contracts::AssistantResponse assistant_view(const store::Room& room,
                                            const store::TurnRecord& record,
                                            std::string_view traceparent) {
  std::string trace = journalled_trace_id(record);
  if (trace.empty()) trace = trace_id_of(traceparent);
  if (trace.empty()) trace = derived_trace_id(room, record.turn);
  const std::string input = status_of(record, trace);
  const json::Document document(input);
  return assistant::compose(document.root(), assistant::ComposeProfile::strict, new_uuid).response;
}

}  // namespace treaty::turns
