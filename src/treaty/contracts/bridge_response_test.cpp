#include "treaty/contracts/bridge_response.h"

#include <doctest/doctest.h>

#include "treaty/contracts/inspection/edits.h"

using namespace treaty::contracts;

namespace {

std::string envelope(const std::string& changed) {
  return R"({"request_id": "3f2504e0-4f89-41d3-9a0c-0305e82c3301", "version": "1.0", )" + changed +
         R"(, "error_message": null, "error_type": null, "created_at": "2026-03-01T08:30:00Z",)" +
         R"( "duration_seconds": 1.5, "metadata": {}})";
}

}  // namespace

TEST_CASE("BRS-06: lenient encodes an object, marks it, and the text is repaired in place") {
  const std::string text = envelope(R"("status": "success", "response": {"a": [1, 2.0]})");

  const auto response = decode_bridge_response(text, {.profile = Profile::lenient});

  REQUIRE(response);
  CHECK(std::get<BridgeSuccess>(response->outcome).response == R"({"a":[1,2.0]})");
  CHECK(response->metadata.find_boolean("auto_wrapped").value_or(false));
  CHECK(response.warnings()[0].repaired);
  const std::string repaired = apply_edits(text, response.verdict().edits);
  const auto again = decode_bridge_response(repaired);
  REQUIRE(again);
  CHECK(*again == *response);
  CHECK(again.warnings().empty());
}

TEST_CASE("BRS-02: result gets the hint that the name is response") {
  const auto response = decode_bridge_response(envelope(R"("status": "success", "result": "x")"));

  REQUIRE(response.error().size() == 2);
  CHECK(response.error()[0].where == "/response");
  CHECK(response.error()[1].hint == "the name is response");
}

TEST_CASE("D9: an error of type timeout is a timeout, and written as one") {
  const auto response = decode_bridge_response(
      R"({"request_id": "3f2504e0-4f89-41d3-9a0c-0305e82c3301", "version": "1.0",
          "status": "error", "response": null, "error_message": "too slow",
          "error_type": "timeout", "created_at": "2026-03-01T08:30:00Z",
          "duration_seconds": 1, "metadata": {}})");

  REQUIRE(response);
  CHECK(response.verdict().kind == "timeout");
  CHECK(std::holds_alternative<BridgeTimeout>(response->outcome));
  CHECK(encode(*response).contains("\"status\": \"timeout\""));
}

TEST_CASE("BRS-14: a bare output is wrapped with the id of the request at hand") {
  const auto response = decode_bridge_response(
      R"({"sections": []})",
      {.profile = Profile::lenient, .request_id = "r-1", .now = "2026-03-01T08:30:00Z"});

  REQUIRE(response);
  CHECK(response->request_id == "r-1");
  CHECK(response->created_at == "2026-03-01T08:30:00Z");
  CHECK(std::get<BridgeSuccess>(response->outcome).response == R"({"sections":[]})");
  REQUIRE(response.warnings().size() == 1);
  CHECK(response.warnings()[0].rule == "BRS-14");
}

TEST_CASE("BRS-13: JSON that the metadata declares is read, other text is not") {
  const std::string text = envelope(R"("status": "success", "response": "not json")");
  std::string declared = text;
  declared.replace(declared.find("{}"), 2, R"({"content_type": "application/json"})");

  CHECK(decode_bridge_response(text));
  CHECK(decode_bridge_response(text, {.inner = Inner::json}).error()[0].rule == "BRS-13");
  CHECK(decode_bridge_response(declared).error()[0].rule == "BRS-13");
  CHECK(decode_bridge_response(declared, {.inner = Inner::text}));
}

TEST_CASE("BRS-14: lenient reads a part of an envelope, and the text is completed in place") {
  const DecodeOptions options{
      .profile = Profile::lenient, .request_id = "r-1", .now = "2026-03-01T08:30:00Z"};
  for (const std::string text :
       {R"({"response": "x"})", R"({"result": {"a": 1}})", R"({"response": [1], "metadata": {}})",
        R"({"error_message": "no", "error_type": "timeout"})", R"({"error_message": "no"})"}) {
    const auto response = decode_bridge_response(text, options);

    REQUIRE(response);
    const std::string repaired = apply_edits(text, response.verdict().edits);
    const auto again = decode_bridge_response(repaired, {.request_id = "r-1"});
    REQUIRE(again);
    CHECK(*again == *response);
  }
}

TEST_CASE("BRS-14: strict names a part of an envelope and promises no repair") {
  const auto response = decode_bridge_response(R"({"response": "x", "metadata": {}})");

  REQUIRE(!response);
  REQUIRE(response.error().size() == 1);
  CHECK(response.error()[0].message ==
        "this is a part of an envelope, without request_id, version, status, error_message, "
        "error_type, created_at, duration_seconds");
}

TEST_CASE("BRS-01: a failure in the metadata is never completed as a success") {
  for (const char* text : {R"({"response": "x", "metadata": {"error": "timeout"}})",
                           R"({"request_id": "r", "version": "1.0", "response": "x",
                               "error_message": null, "error_type": null, "duration_seconds": 0,
                               "created_at": "2025-11-24T14:22:45Z",
                               "metadata": {"success": false}})"}) {
    CAPTURE(text);
    const auto response = decode_bridge_response(text, {.profile = Profile::mending});

    REQUIRE(!response);
    CHECK(response.error()[0].message.contains("metadata may report a failure"));
  }
}

TEST_CASE("BRS-14: what names an error is never read as a success") {
  for (const std::string text :
       {R"({"error_message": "no", "response": "x"})", R"({"error_type": "auth_error"})",
        R"({"error": "no"})", R"({"error": {"message": "no"}, "code": 1})"}) {
    const auto response = decode_bridge_response(text, {.profile = Profile::lenient});

    REQUIRE(!response);
    CHECK(response.error()[0].rule == "BRS-14");
    CHECK(response.verdict().edits.empty());
  }
}

TEST_CASE("BRS-01, BRS-02: only the mending profile completes an envelope") {
  const std::string text = R"({"request_id": "r-1", "result": "x", "version": 1.0})";

  CHECK(!decode_bridge_response(text, {.profile = Profile::lenient}));
  const auto response =
      decode_bridge_response(text, {.profile = Profile::mending, .now = "2026-03-01T08:30:00Z"});
  REQUIRE(response);
  CHECK(std::get<BridgeSuccess>(response->outcome).response == "x");
  CHECK(decode_bridge_response(apply_edits(text, response.verdict().edits)));
}
