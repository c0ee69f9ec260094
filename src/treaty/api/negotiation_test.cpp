#include "treaty/api/negotiation.h"

#include <doctest/doctest.h>

#include <array>

namespace treaty::api {
namespace {

using contracts::Dialect;
using turns::Reason;

Headers typed(std::string_view type) { return {{"content-type", type}}; }
Headers accepting(std::string_view accept) { return {{"accept", accept}}; }

Target target_of(std::string_view text) { return *Target::parse(text); }

TEST_CASE("JSON in UTF-8 is read, also without a word about its type") {
  for (const std::string_view type :
       {"", "application/json", "APPLICATION/JSON", "application/json;charset=utf-8",
        "application/json; charset=\"UTF-8\"", "application/json; x=y; charset=utf8",
        "application/vnd.treaty+json"}) {
    CAPTURE(type);
    CHECK(require_json(typed(type)));
  }
  CHECK(require_json({}));
}

TEST_CASE("other types, other charsets and compressed bodies are not supported") {
  const std::array<Headers, 7> refused = {
      typed("text/plain"),
      typed("application/jsonx"),
      typed("text/json"),
      typed("application/x-www-form-urlencoded"),
      typed("application/json; charset=utf-16"),
      Headers{{"content-type", "application/json"}, {"content-encoding", "gzip"}},
      Headers{{"content-encoding", "identity, gzip"}}};
  for (const Headers& headers : refused) {
    const auto json = require_json(headers);

    REQUIRE(!json);
    CHECK(json.error().reason == Reason::unsupported_media_type);
  }
  CHECK(require_plain({{"content-encoding", "Identity"}}));
}

TEST_CASE("a client that names no form of stream gets none named") {
  CHECK(stream_form_in({}) == std::nullopt);
  CHECK(stream_form_in(accepting("*/*")) == std::nullopt);
  CHECK(stream_form_in(accepting("application/json, text/html;q=0.5")) == std::nullopt);
  CHECK(stream_form_in(accepting("application/x-ndjson;q=0")) == std::nullopt);
}

TEST_CASE("a client gets the form of stream that it prefers") {
  CHECK(stream_form_in(accepting("application/x-ndjson")) == StreamForm::lines);
  CHECK(stream_form_in(accepting("application/ndjson")) == StreamForm::lines);
  CHECK(stream_form_in(accepting("text/event-stream, */*")) == StreamForm::events);
  CHECK(stream_form_in(accepting("text/event-stream, application/x-ndjson")) == StreamForm::events);
  CHECK(stream_form_in(accepting("application/x-ndjson, text/event-stream")) == StreamForm::lines);
  CHECK(stream_form_in(accepting("application/x-ndjson;q=0.5, text/event-stream;q=0.9")) ==
        StreamForm::events);
  CHECK(stream_form_in(accepting("text/event-stream;q=0.1 , Application/X-NDJSON ; q=0.2")) ==
        StreamForm::lines);
}

TEST_CASE("an Idempotency-Key has 1 to 255 printable characters") {
  CHECK(idempotency_key_in({}) == std::nullopt);
  CHECK(idempotency_key_in({{"idempotency-key", "a b-1"}}) == "a b-1");
  CHECK(idempotency_key_in({{"idempotency-key", std::string(255, 'k')}}).has_value());
  for (const std::string& key : {std::string(), std::string(256, 'k'), std::string("caf\xC3\xA9"),
                                 std::string("a\tb"), std::string("\x7F")}) {
    CAPTURE(key);
    const auto read = idempotency_key_in({{"idempotency-key", key}});
    REQUIRE(!read);
    CHECK(read.error().reason == Reason::contract_violation);
  }
}

TEST_CASE("the last event id is read from the header, else from the query") {
  CHECK(last_event_id_in({}, target_of("/x")) == std::nullopt);
  CHECK(last_event_id_in({{"last-event-id", "7"}}, target_of("/x?last_event_id=3")) == 7);
  CHECK(last_event_id_in({}, target_of("/x?last_event_id=3")) == 3);
  CHECK(last_event_id_in({{"last-event-id", ""}}, target_of("/x")) == std::nullopt);
}

TEST_CASE("a last event id that is no count is refused") {
  for (const std::string_view id : {"x", "-1", "1.5", "1 ", "99999999999999999999"}) {
    CAPTURE(id);
    CHECK(!last_event_id_in({}, target_of("/x?last_event_id=" + path_segment(id))));
  }
}

TEST_CASE("the first name of a body that is broken tells its dialect") {
  CHECK(dialect_of_text(R"( {"sessionId": )") == Dialect::camel);
  CHECK(dialect_of_text(R"({"SessionId": )") == Dialect::pascal);
  for (const std::string_view body : {"", " ", "{", "{}", "{\"", "[\"a\"]", "null"}) {
    CAPTURE(body);
    CHECK(dialect_of_text(body) == Dialect::pascal);
  }
}

}  // namespace
}  // namespace treaty::api
