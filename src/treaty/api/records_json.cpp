#include "treaty/api/records_json.h"

#include <fmt/format.h>

#include <algorithm>

#include "treaty/api/answers.h"
#include "treaty/base/json.h"
#include "treaty/base/text.h"

namespace treaty::api {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 10U;  // Of a small object.

void write_members(json::Writer& writer, std::string_view session_id, const store::Turn& turn) {
  writer.member("SessionId", session_id);
  writer.member("TurnId", turn.turn_id);
  writer.member("Number", turn.number);
  writer.member("State", shown_state(turn.state));
  writer.member("ModeDisplayName", turn.mode);
  writer.member("Rounds", turn.round + 1);
  if (!turn.error_code.empty()) writer.member("ErrorCode", turn.error_code);
  writer.member("CreatedAt", timestamp_of(turn.created_at));
  writer.member("UpdatedAt", timestamp_of(turn.updated_at));
  if (turn.state == store::TurnState::awaiting_tools && turn.tool_deadline > 0) {
    writer.member("ToolDeadline", timestamp_of(turn.tool_deadline));
  }
}

const store::AnswerRecord* newest_answer(const store::TurnRecord& record) {
  const store::AnswerRecord* newest = nullptr;
  for (const store::Round& round : record.rounds) {
    if (round.answer) newest = &*round.answer;
  }
  return newest;
}

}  // namespace

std::string_view shown_state(store::TurnState state) {
  return state == store::TurnState::accepted ? "running" : store::name_of(state);
}

void write_session(json::Writer& writer, const store::Session& session,
                   std::string_view newest_turn) {
  writer.begin_object();
  writer.member("SessionId", session.room.session_id);
  if (!session.agent.empty()) writer.member("AgentContextId", session.agent);
  if (!session.conversation.empty()) writer.member("ConversationContextId", session.conversation);
  writer.member("TurnCount", session.turns);
  if (!newest_turn.empty()) writer.member("NewestTurnId", newest_turn);
  writer.member("CreatedAt", timestamp_of(session.created_at));
  writer.member("UpdatedAt", timestamp_of(session.updated_at));
  writer.end_object();
}

void write_turn(json::Writer& writer, std::string_view session_id, const store::Turn& turn) {
  writer.begin_object();
  write_members(writer, session_id, turn);
  writer.end_object();
}

void write_turn(json::Writer& writer, std::string_view session_id,
                const store::TurnRecord& record) {
  writer.begin_object();
  write_members(writer, session_id, record.turn);
  if (record.turn.state == store::TurnState::awaiting_tools) {
    writer.name("PendingToolCalls").raw(record.turn.pending);
  }
  if (const store::AnswerRecord* answer = newest_answer(record)) {
    writer.name("Result").raw(answer->body);
  }
  writer.end_object();
}

std::expected<std::map<std::string, std::string, std::less<>>, turns::Refusal> read_texts(
    std::string_view body, std::initializer_list<std::string_view> names) {
  std::map<std::string, std::string, std::less<>> texts;
  if (is_utf8(body) && is_blank(body)) return texts;
  const json::Document document(body, {.max_size = kMostBytes, .names = json::NameCase::folded});
  if (!document.faults().empty()) {
    const json::Fault& fault = document.faults().front();
    return std::unexpected(wrong_value("the body is no JSON: " + fault.message, fault.pointer));
  }
  const auto root = document.root();
  if (!root || !root->is_object()) {
    return std::unexpected(wrong_value("the body is no JSON object; leave it out, or send {}", ""));
  }
  for (const json::Member member : root->members()) {
    const auto name = std::ranges::find_if(
        names, [&](std::string_view known) { return equal_folded(known, member.name.text()); });
    std::string where;
    json::append_pointer_token(where, member.name.text());
    if (names.size() == 0) {
      return std::unexpected(wrong_value("this takes no body; leave it out, or send {}", where));
    }
    if (name == names.end()) {
      return std::unexpected(
          wrong_value(fmt::format("there is no such member; there are {}", fmt::join(names, ", ")),
                      std::move(where)));
    }
    if (member.value.is_null()) continue;
    if (!member.value.is_string() || is_blank(member.value.text())) {
      return std::unexpected(
          wrong_value(fmt::format("{} is a string that is not blank", *name), std::move(where)));
    }
    texts.emplace(*name, member.value.text());
  }
  return texts;
}

}  // namespace treaty::api
