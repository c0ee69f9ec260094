// Sessions and turns as JSON, in PascalCase. Pure.
#pragma once

#include <expected>
#include <map>
#include <string>
#include <string_view>

#include "treaty/base/json_write.h"
#include "treaty/base/timestamp.h"
#include "treaty/store/records.h"
#include "treaty/turns/refusals.h"

namespace treaty::api {

// `newest_turn` empty: not told.
void write_session(json::Writer& writer, const store::Session& session,
                   std::string_view newest_turn = {});

// Without its rounds.
void write_turn(json::Writer& writer, std::string_view session_id, const store::Turn& turn);

// With what it waits for and what was answered last.
void write_turn(json::Writer& writer, std::string_view session_id, const store::TurnRecord& record);

// As clients know it: what is accepted runs.
std::string_view shown_state(store::TurnState state);

// The texts of a small JSON object whose members are all texts, may all be left out, and are named
// in `names`, in either case. An empty body has none. Without names it is empty, or {}.
std::expected<std::map<std::string, std::string, std::less<>>, turns::Refusal> read_texts(
    std::string_view body, std::initializer_list<std::string_view> names);

}  // namespace treaty::api
