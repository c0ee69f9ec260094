#include "treaty/bridge/result_file.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "treaty/contracts/decode_agent_result.h"
#include "treaty/testing/generators.h"

using namespace treaty;
using namespace treaty::bridge;
using object = json::ObjectText;
using contracts::AgentError;
using contracts::AgentResult;
using contracts::BridgeError;
using contracts::BridgeResponse;
using contracts::BridgeSuccess;
using contracts::BridgeTimeout;

namespace {

const Envelope kEnvelope{.request_id = "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
                         .created_at = "2026-03-01T08:30:00Z",
                         .duration_seconds = 1.5};
const AnsweredBy kReviewer{.agent = "reviewer", .backend = "openai", .model = "gpt-4o"};

BridgeResponse response_of(const AgentResult& result) {
  return bridge::response_of(result, kEnvelope, kReviewer);
}

// As a stranger writes it.
BridgeResponse plain(decltype(BridgeResponse::outcome) outcome, object metadata = {}) {
  return {.request_id = kEnvelope.request_id,
          .outcome = std::move(outcome),
          .created_at = kEnvelope.created_at,
          .duration_seconds = 1.5,
          .metadata = std::move(metadata)};
}

BridgeResponse through_file(const BridgeResponse& response) {
  const auto read = contracts::decode_bridge_response(contracts::encode(response));
  REQUIRE(read);
  return *read;
}

AgentResult through_text(const AgentResult& result) {
  const auto read = contracts::decode_agent_result(contracts::encode(result));
  REQUIRE(read);
  return *read;
}

object record_of(const AgentResult& result) { return *result.metadata->find_object("bridge"); }

// The result as it was before it became a file: its own metadata instead of the record.
AgentResult without_record(AgentResult result) {
  const object metadata = *record_of(result).find_object("metadata");
  const auto text = metadata.find_text("agent_result");
  const auto kept = text ? object::parse(*text) : metadata.find_object("agent_result");
  REQUIRE(kept);
  result.metadata = kept->find_object("metadata");
  return result;
}

rc::Gen<std::string> any_code() {
  return rc::gen::element<std::string>("timeout", "rate_limit", "server_error", "max_steps", "",
                                       " ", "Timeout");
}

std::optional<std::string> perhaps(const rc::Gen<std::string>& text) {
  if (*rc::gen::arbitrary<bool>()) return *text;
  return std::nullopt;
}

// With everything that an error may have, and with the record of another exchange.
AgentResult some_result() {
  AgentResult result = *testing::any_agent_result();
  if (result.error) {
    result.error->code = perhaps(any_code());
    result.error->type = perhaps(testing::any_text());
    if (*rc::gen::inRange(0, 4) == 0)
      result.error->message = *rc::gen::element<std::string>("", " \n");
  }
  if (*rc::gen::inRange(0, 4) == 0) {
    result = result_of(bridge::response_of(
        result, {.request_id = "another", .created_at = "2026-02-01T08:30:00Z"}, {}));
  }
  return result;
}

// Metadata that have our names, with our values, with others, or spoilt.
object some_metadata() {
  object metadata = response_of(some_result()).metadata;
  const auto value = [] {
    return *rc::gen::element<json::ValueText>(
        nullptr, true, -7, 429, "text", "{\"content\":null}", std::vector<std::string>(),
        object{{"content", nullptr}}, object{{"error", object{{"code", nullptr}}}},
        object{{"finish_reason", 5}, {"usage", "many"}});
  };
  for (const std::string_view name :
       {"agent_result", "retryable", "status_code", "model", "input_tokens", "bridge"}) {
    if (*rc::gen::inRange(0, 4) == 0) metadata.set(name, value());
    if (*rc::gen::inRange(0, 8) == 0) metadata.erase(name);
  }
  auto rest = metadata.find_object("agent_result");
  if (!rest) return metadata;
  for (const std::string_view name :
       {"content", "output", "error", "finish_reason", "usage", "cost", "tool_calls", "metadata"}) {
    if (*rc::gen::inRange(0, 5) == 0) rest->set(name, value());
  }
  metadata.set("agent_result", *rest);
  return metadata;
}

BridgeResponse some_response() {
  BridgeResponse response = *testing::any_bridge_response();
  if (*rc::gen::arbitrary<bool>()) response.metadata = some_metadata();
  if (*rc::gen::inRange(0, 4) == 0) response.version = "1.1";
  if (*rc::gen::inRange(0, 4) == 0) response.outcome = BridgeSuccess{"{\"a\":1}"};
  if (*rc::gen::inRange(0, 8) == 0) response.outcome = BridgeSuccess{"{ \"a\": 1 }"};
  if (*rc::gen::inRange(0, 8) == 0) response.outcome = BridgeError{"it broke", *any_code(), {}};
  return response;
}

}  // namespace

TEST_CASE("a result becomes a response and the same result again") {
  CHECK(rc::check([] {
    const AgentResult result = some_result();

    const BridgeResponse response = response_of(result);

    RC_ASSERT(without_record(result_of(response)) == result);
    RC_ASSERT(without_record(result_of(through_file(response))) == result);
  }));
}

TEST_CASE("a response becomes a result and the same response again, whoever wrote it") {
  CHECK(rc::check([] {
    const BridgeResponse response = some_response();

    const AgentResult result = result_of(response);

    const Envelope later{.request_id = response.request_id, .created_at = "2027-01-01T00:00:00Z"};
    RC_ASSERT(bridge::response_of(result, later, kReviewer) == response);
    RC_ASSERT(bridge::response_of(through_text(result), later, kReviewer) == response);
  }));
}

TEST_CASE("a response of ours keeps its contract without a warning") {
  CHECK(rc::check([] {
    const auto read =
        contracts::decode_bridge_response(contracts::encode(response_of(some_result())));

    RC_ASSERT(static_cast<bool>(read));
    RC_ASSERT(read.warnings().empty());
  }));
}

TEST_CASE("who answered stands at the top of metadata") {
  const AgentResult result{
      .content = "fine",
      .usage = contracts::UsageInfo{.input_tokens = 12, .output_tokens = 3},
      .provider_data =
          object{{"provider", "openai"}, {"model", "gpt-4o-2024"}, {"request_id", "req_1"}}};

  const object metadata = response_of(result).metadata;

  CHECK(metadata.find_text("agent") == "reviewer");
  CHECK(metadata.find_text("backend") == "openai");
  CHECK(metadata.find_text("model") == "gpt-4o-2024");
  CHECK(metadata.find_text("provider_request_id") == "req_1");
  CHECK(metadata.find_integer("input_tokens") == 12);
  CHECK(metadata.find_integer("output_tokens") == 3);
  CHECK(!metadata.contains("retryable"));
}

TEST_CASE("a model that the answer does not name is the one that was asked for") {
  const BridgeResponse response =
      bridge::response_of({.content = "fine", .provider_data = object{{"provider", "scripted"}}},
                          kEnvelope, {.model = "demo"});

  CHECK(response.metadata.find_text("model") == "demo");
  CHECK(response.metadata.find_text("backend") == "scripted");
  CHECK(!response.metadata.contains("agent"));
}

TEST_CASE("the code timeout is the status timeout, and keeps the provider's own name for it") {
  const AgentResult result{.error = AgentError{.message = "too slow",
                                               .code = "timeout",
                                               .type = "HTTP 504",
                                               .status_code = 504,
                                               .retryable = true}};

  const BridgeResponse response = response_of(result);

  CHECK(std::get<BridgeTimeout>(response.outcome).error_message == "too slow");
  CHECK(response.metadata.find_boolean("retryable") == true);
  CHECK(response.metadata.find_integer("status_code") == 504);
  CHECK(result_of(response).error == result.error);
}

TEST_CASE("another code is the error type, whether it is known or not") {
  const BridgeResponse response =
      response_of({.error = AgentError{.message = "gave up", .code = "max_steps"}});

  const auto& error = std::get<BridgeError>(response.outcome);
  CHECK(error.error_message == "gave up");
  CHECK(error.error_type == "max_steps");
  CHECK(!error.response);
  CHECK(result_of(response).error->code == "max_steps");
}

TEST_CASE("BRS-08: an error without a message gets one, and has none again afterwards") {
  const AgentResult result{.error = AgentError{.message = " "}};

  const BridgeResponse response = response_of(result);

  CHECK(std::get<BridgeError>(response.outcome).error_message ==
        "the agent failed and did not say why");
  CHECK(result_of(response).error == result.error);
}

TEST_CASE("BRS-08: what a failed agent had said already is kept out of the envelope") {
  const BridgeResponse response = response_of(
      {.content = "half a", .error = AgentError{.message = "cut", .code = "server_error"}});

  CHECK(!std::get<BridgeError>(response.outcome).response);
  CHECK(result_of(response).content == "half a");
}

TEST_CASE("without content the output is the text") {
  const AgentResult result{.output = object{{"verdict", "fine"}}};

  const BridgeResponse response = response_of(result);

  CHECK(std::get<BridgeSuccess>(response.outcome).response == R"({"verdict":"fine"})");
  CHECK(result_of(response).output == result.output);
  CHECK(!result_of(response).content);
}

TEST_CASE("with both, the content is the text") {
  const AgentResult result{.output = object{{"a", 1}}, .content = "{\"a\": 1}"};

  const BridgeResponse response = response_of(result);

  CHECK(std::get<BridgeSuccess>(response.outcome).response == "{\"a\": 1}");
  CHECK(result_of(response).output == result.output);
  CHECK(result_of(response).content == result.content);
}

TEST_CASE("a stranger's success is a result with its content, model and tokens") {
  const AgentResult result = result_of(plain(
      BridgeSuccess{"done"}, {{"model", "sonnet-4"}, {"input_tokens", 7}, {"output_tokens", 2}}));

  CHECK(result.content == "done");
  CHECK(result.finish_reason == "stop");
  CHECK(result.success());
  CHECK(result.provider_data == object{{"model", "sonnet-4"}});
  CHECK(result.usage ==
        contracts::UsageInfo{.input_tokens = 7, .output_tokens = 2, .total_tokens = 9});
  CHECK(record_of(result).find_text("request_id") == kEnvelope.request_id);
  CHECK(record_of(result).find_number("duration_seconds") == 1.5);
  CHECK(record_of(result).find_object("metadata")->find_text("model") == "sonnet-4");
}

TEST_CASE("a stranger's error without a type is a server_error") {
  const AgentResult result = result_of(plain(BridgeError{.error_message = "it broke"}));

  CHECK(result.finish_reason == "error");
  CHECK(result.error ==
        AgentError{.message = "it broke", .code = "server_error", .retryable = true});
  CHECK(!result.content);
}

TEST_CASE("a stranger's error keeps its type, its status and whether to try again") {
  const AgentResult result = result_of(
      plain(BridgeError{"no", "quota", "so far"}, {{"retryable", false}, {"status_code", 402}}));

  CHECK(result.error ==
        AgentError{.message = "no", .code = "quota", .status_code = 402, .retryable = false});
  CHECK(result.content == "so far");
}

TEST_CASE("a stranger's timeout is the code timeout, worth another try") {
  const AgentResult result = result_of(plain(BridgeTimeout{"too slow", std::nullopt}));

  CHECK(result.error == AgentError{.message = "too slow", .code = "timeout", .retryable = true});
}

TEST_CASE("metadata with our names and other types say nothing") {
  const AgentResult result = result_of(
      plain(BridgeError{.error_message = "no", .error_type = "odd"}, {{"retryable", "yes"},
                                                                      {"status_code", 7},
                                                                      {"agent_result", 5},
                                                                      {"input_tokens", -1},
                                                                      {"model", nullptr}}));

  CHECK(result.error == AgentError{.message = "no", .code = "odd"});
  CHECK(!result.usage);
  CHECK(!result.provider_data);
}

TEST_CASE("a part of the result that was spoilt does not spoil the others") {
  BridgeResponse response =
      response_of({.content = "x", .usage = contracts::UsageInfo{.input_tokens = 4}, .cost = 0.5});
  object rest = *response.metadata.find_object("agent_result");
  rest.set("usage", "many");
  response.metadata.set("agent_result", rest);

  const AgentResult result = result_of(response);

  CHECK(!result.usage);
  CHECK(std::get<double>(*result.cost) == 0.5);
}

TEST_CASE("a text that was edited by hand wins over what was kept") {
  BridgeResponse response = response_of({.output = object{{"a", 1}}});
  response.outcome = BridgeSuccess{"a better answer"};

  const AgentResult result = result_of(response);

  CHECK(result.content == "a better answer");
  CHECK(!result.output);
}

TEST_CASE("a success that was edited into an error is an error") {
  BridgeResponse response = response_of({.content = "x", .finish_reason = "stop"});
  response.outcome = BridgeError{.error_message = "no, wrong", .error_type = "rejected"};

  const AgentResult result = result_of(response);

  CHECK(result.finish_reason == "error");
  CHECK(result.error == AgentError{.message = "no, wrong", .code = "rejected"});
}

TEST_CASE("an error that was edited into a success is a success") {
  BridgeResponse response = response_of(
      {.content = "half", .finish_reason = "error", .error = AgentError{.message = "cut"}});
  response.outcome = BridgeSuccess{"whole"};

  const AgentResult result = result_of(response);

  CHECK(result.success());
  CHECK(result.finish_reason == "stop");
  CHECK(result.content == "whole");
}

TEST_CASE("a result that was changed after it was read is a new response") {
  AgentResult result = result_of(plain(BridgeSuccess{"done"}));
  result.usage = contracts::UsageInfo{.api_calls = 2};

  const BridgeResponse response = response_of(result);

  CHECK(response.metadata.find_text("agent") == "reviewer");
  CHECK(result_of(response).usage == result.usage);
}

TEST_CASE("JSON-03: a result that is as deep as a document may be is still one in a file") {
  object deep{{"end", true}};
  for (int level = 2; level < 60; ++level) deep = object{{"in", deep}};
  AgentResult result{.output = deep, .content = "x", .metadata = deep};

  const BridgeResponse response = through_file(response_of(result));

  CHECK(response.metadata.find_text("agent_result"));
  CHECK(without_record(result_of(response)) == result);
}
