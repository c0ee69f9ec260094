// What the headers of a request say of bodies: the type of what came, the form of what shall leave,
// and the place where a stream goes on. Pure.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "treaty/api/target.h"
#include "treaty/base/headers.h"
#include "treaty/contracts/inspection/names.h"
#include "treaty/turns/refusals.h"

namespace treaty::api {

// JSON, in UTF-8 if a charset is named, not compressed. A body without a type is taken for JSON.
std::expected<void, turns::Refusal> require_json(const Headers& headers);

// Not compressed, whatever the type.
std::expected<void, turns::Refusal> require_plain(const Headers& headers);

enum class StreamForm { events, lines };

// How the client wants a stream: NDJSON when it prefers that to an event stream; nothing when it
// names neither.
std::optional<StreamForm> stream_form_in(const Headers& headers);

// One to 255 printable characters; nothing when none was sent.
std::expected<std::optional<std::string>, turns::Refusal> idempotency_key_in(
    const Headers& headers);

// The header Last-Event-ID, or the parameter last_event_id. Nothing when there is none.
std::expected<std::optional<std::int64_t>, turns::Refusal> last_event_id_in(const Headers& headers,
                                                                            const Target& target);

// The dialect of a body that cannot be read: the case of its first name.
contracts::Dialect dialect_of_text(std::string_view body);

}  // namespace treaty::api
