// What `treaty sessions` prints: lines for people, JSON for programs, NDJSON to keep.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "treaty/store/store.h"

namespace treaty::cli {

// A table of sessions, or of turns; foreign text is made harmless.
std::string table_of(std::span<const store::Session> sessions);
std::string table_of(std::span<const store::Turn> turns);

std::string json_of(std::span<const store::Session> sessions);
std::string json_of(const store::Session& session, std::span<const store::Turn> turns);

// One line each, without its end: {"Kind":"session"…}, then of every round {"Kind":"request"…} and
// {"Kind":"answer"…}. A body that is JSON stays JSON.
std::string line_of(const store::Session& session);
std::string line_of(const store::Turn& turn, const store::RequestRecord& request);
std::string line_of(const store::Turn& turn, const store::AnswerRecord& answer);

// "45s", "30m", "12h", "30d", "2w" in milliseconds; nothing when it is none of these.
std::optional<store::Milliseconds> read_age(std::string_view text);

}  // namespace treaty::cli
