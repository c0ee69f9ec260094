#include "treaty/cli/sessions/session_report.h"

#include <fmt/format.h>

#include <charconv>

#include "treaty/base/json.h"
#include "treaty/base/json_write.h"
#include "treaty/base/timestamp.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli {
namespace {

void write_members(json::Writer& writer, const store::Session& session) {
  writer.member("Tenant", session.room.tenant)
      .member("SessionId", session.room.session_id)
      .member("Agent", session.agent);
  if (!session.conversation.empty()) writer.member("Conversation", session.conversation);
  if (!session.opening_turn.empty()) writer.member("OpeningTurnId", session.opening_turn);
  if (!session.solution_context.empty()) {
    writer.member("SolutionContextText", session.solution_context);
  }
  writer.member("Turns", session.turns)
      .member("CreatedAt", timestamp_of(session.created_at))
      .member("UpdatedAt", timestamp_of(session.updated_at));
}

void write_turn(json::Writer& writer, const store::Turn& turn) {
  writer.begin_object()
      .member("TurnId", turn.turn_id)
      .member("Number", turn.number)
      .member("State", store::name_of(turn.state))
      .member("Rounds", turn.round + 1);
  if (!turn.error_code.empty()) writer.member("ErrorCode", turn.error_code);
  writer.member("CreatedAt", timestamp_of(turn.created_at))
      .member("UpdatedAt", timestamp_of(turn.updated_at))
      .end_object();
}

void write_body(json::Writer& writer, std::string_view name, const std::string& body) {
  writer.name(name);
  if (json::is_json(body)) {
    writer.raw(body);
  } else {
    writer.value(body);
  }
}

json::Writer begin_line(std::string_view kind, const store::Turn& turn, int round) {
  json::Writer writer;
  writer.begin_object()
      .member("Kind", kind)
      .member("TurnId", turn.turn_id)
      .member("Number", turn.number)
      .member("State", store::name_of(turn.state))
      .member("Round", round);
  return writer;
}

}  // namespace

std::string table_of(std::span<const store::Session> sessions) {
  TableRows rows = {{"SESSION", "TENANT", "AGENT", "TURNS", "UPDATED"}};
  for (const store::Session& session : sessions) {
    rows.push_back({harmless(session.room.session_id), harmless(session.room.tenant),
                    session.agent.empty() ? "-" : harmless(session.agent),
                    std::to_string(session.turns), timestamp_of(session.updated_at)});
  }
  return table_text(rows);
}

std::string table_of(std::span<const store::Turn> turns) {
  TableRows rows = {{"#", "TURN", "STATE", "ROUNDS", "ERROR", "UPDATED"}};
  for (const store::Turn& turn : turns) {
    rows.push_back({std::to_string(turn.number), harmless(turn.turn_id),
                    std::string(store::name_of(turn.state)), std::to_string(turn.round + 1),
                    turn.error_code.empty() ? "-" : harmless(turn.error_code),
                    timestamp_of(turn.updated_at)});
  }
  return table_text(rows);
}

std::string json_of(std::span<const store::Session> sessions) {
  json::Writer writer;
  writer.begin_object().name("Sessions").objects(sessions, [&](const store::Session& session) {
    write_members(writer, session);
  });
  return writer.end_object().take();
}

std::string json_of(const store::Session& session, std::span<const store::Turn> turns) {
  json::Writer writer;
  writer.begin_object();
  write_members(writer, session);
  // `Turns` is their number, as in a list.
  writer.name("TurnList").array(turns, [&](const auto& turn) { write_turn(writer, turn); });
  return writer.end_object().take();
}

std::string line_of(const store::Session& session) {
  json::Writer writer;
  writer.begin_object().member("Kind", "session");
  write_members(writer, session);
  return writer.end_object().take();
}

std::string line_of(const store::Turn& turn, const store::RequestRecord& request) {
  json::Writer writer = begin_line("request", turn, request.round);
  write_body(writer, "Request", request.body);
  return writer.end_object().take();
}

std::string line_of(const store::Turn& turn, const store::AnswerRecord& answer) {
  json::Writer writer = begin_line("answer", turn, answer.round);
  writer.member("CreatedAt", timestamp_of(answer.created_at));
  write_body(writer, "Answer", answer.body);
  return writer.end_object().take();
}

std::optional<store::Milliseconds> read_age(std::string_view text) {
  constexpr store::Milliseconds kLongest = 1'000'000;
  if (text.empty()) return std::nullopt;
  store::Milliseconds number = 0;
  const auto [rest, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool has_unit = rest == text.data() + text.size() - 1;
  if (failed != std::errc() || !has_unit || number < 0 || number > kLongest) return std::nullopt;
  switch (*rest) {
    case 's': return number * 1'000;
    case 'm': return number * 60 * 1'000;
    case 'h': return number * 60 * 60 * 1'000;
    case 'd': return number * 24 * 60 * 60 * 1'000;
    case 'w': return number * 7 * 24 * 60 * 60 * 1'000;
    default: return std::nullopt;
  }
}

}  // namespace treaty::cli
