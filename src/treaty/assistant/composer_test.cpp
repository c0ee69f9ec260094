#include "treaty/assistant/composer.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "treaty/base/ids.h"
#include "treaty/base/text.h"
#include "treaty/testing/generators.h"
#include "treaty/testing/vectors.h"

using namespace treaty;
using namespace treaty::assistant;

namespace {

Composition composed(std::string_view text, ComposeProfile profile = ComposeProfile::strict) {
  const json::Document document(text);
  return compose(document.root(), profile, [] { return std::string("new"); });
}

bool is_generated(json::Value expected, const std::string& got) {
  return expected.is_object() && is_uuid(got) && got[14] == '4';
}

// A value that may stand where the composer looks, right or wrong.
std::string some_value() {
  return *rc::gen::element<std::string>(
      "null", "true", "false", "0", "0.9", "-1", "\"\"", "\" \"", "\"x\"", "\"0.6\"", "[]", "{}",
      "\"/home/app/x.log\"", "\"error\"", "\"clarification_needed\"",
      R"({"confidence": 0.9, "confidence_verified": true, "trace_ref": 5})");
}

std::string some_part() {
  if (*rc::gen::inRange(0, 6) == 0) return some_value();
  std::string text = "{\"x\": 0";
  for (const char* name : {"status", "error", "deferred", "clarification_prompt", "task_type",
                           "parameters", "priority", "confidence", "trust", "trace_id"}) {
    if (*rc::gen::arbitrary<bool>()) text += std::string(", \"") + name + "\": " + some_value();
  }
  return text + "}";
}

std::string some_input() {
  return "{\"summary\": " + some_part() + ", \"task\": " + some_part() +
         ", \"routing\": " + some_part() + ", \"execution_status\": " + some_part() + "}";
}

}  // namespace

TEST_CASE("every compose vector gets exactly the response that it states") {
  for (const auto& line : testing::read_vector_lines("compose.ndjson")) {
    const auto profile =
        line.text("profile") == "compat" ? ComposeProfile::compat : ComposeProfile::strict;

    const auto response = compose(line["input"], profile, new_uuid).response;

    CAPTURE(line.text("id"));
    const auto expect = line["expect"].members();
    CHECK(response.assistant_message == expect.find("assistant_message")->text());
    CHECK(response.action_taken == expect.find("action_taken")->text());
    std::vector<std::string> steps;
    for (const json::Value step : expect.find("next_steps")->elements()) {
      steps.emplace_back(step.text());
    }
    CHECK(response.next_steps == steps);
    CHECK(contracts::name_of(response.confidence_level) == expect.find("confidence_level")->text());
    const json::Value trace = *expect.find("trace_id");
    CHECK((is_generated(trace, response.trace_id) ||
           (trace.is_string() && trace.text() == response.trace_id)));
  }
}

TEST_CASE("strict always composes a valid response, whatever the shape of the input") {
  CHECK(rc::check([] {
    const std::string input = some_input();
    RC_LOG() << input;
    const auto response = composed(input).response;
    RC_ASSERT(bool(contracts::decode_assistant_response(contracts::encode(response))));
  }));
}

TEST_CASE("the same input gives the same response") {
  CHECK(rc::check([] {
    const std::string input = some_input();
    for (const auto profile : {ComposeProfile::strict, ComposeProfile::compat}) {
      RC_ASSERT(composed(input, profile).response == composed(input, profile).response);
    }
  }));
}

TEST_CASE("no input at all gives the default response") {
  const Composition composition =
      compose(std::nullopt, ComposeProfile::strict, [] { return std::string("new"); });

  CHECK(composition.state == State::fallback);
  CHECK(composition.response.assistant_message == "I processed your request.");
  CHECK(composition.response.trace_id == "new");
}

TEST_CASE("a composition says why it is what it is") {
  const Composition composition = composed(
      R"({"execution_status": {"status": "error", "error": "quota", "trace_id": "t"},
          "task": {"confidence": 0.95}})");

  CHECK(composition.state == State::task_failed);
  CHECK(composition.why_state == "execution_status.status is \"error\"");
  CHECK(composition.why_confidence == "task.confidence (high), lowered because of the state");
  CHECK(composition.why_trace_id == "execution_status.trace_id");
}

TEST_CASE("compat reads what it is given the way Python does") {
  const auto in_compat = [](std::string_view text) {
    return composed(text, ComposeProfile::compat).response;
  };
  const auto level = [&](std::string_view confidence) {
    return contracts::name_of(
        in_compat("{\"task\": {\"confidence\": " + std::string(confidence) + "}}")
            .confidence_level);
  };

  CHECK(in_compat(R"({"task": {"task_type": 5, "priority": 3}})").action_taken ==
        "Created 5 task with priority 3.");
  CHECK(in_compat(R"({"execution_status": {"status": "error", "error": true}})").action_taken ==
        "Failed to execute task: True.");
  CHECK(in_compat(R"({"task": {"task_type": "x", "parameters": {"message": "item"}},
                      "summary": {"summary": "S"}})")
            .assistant_message == "I've created a x task for you: S.");
  CHECK(level(R"("1e400")") == "high");
  CHECK(level(R"("1e-400")") == "low");
  CHECK(level(R"(" 1_0 ")") == "high");
  CHECK(level("\"nan(1)\"") == "medium");
  CHECK(level(R"("+-5")") == "medium");
  CHECK(level("[1]") == "medium");
}

TEST_CASE("the trust block of routing counts alone, and what is verified first decides") {
  CHECK(composed(R"({"routing": {"trust": {}},
                     "execution_status": {"trust": {"confidence": 0.2,
                                                    "confidence_verified": true}}})")
            .response.confidence_level == contracts::ConfidenceLevel::high);
  CHECK(composed(R"({"task": {"confidence": 0.9},
                     "routing": {"trust": {"confidence_verified": true},
                                 "confidence_verified": true, "verified_confidence": 0.1}})")
            .response.confidence_level == contracts::ConfidenceLevel::high);
  CHECK(composed(R"({"execution_status": {"trace_id": "es",
                     "trust": {"trace_ref": 7, "trace_ref_verified": true}}})")
            .response.trace_id == "es");
  CHECK(composed(R"({"routing": {"verified_trace_id": 7}, "execution_status": {"trace_id": "es"}})")
            .response.trace_id == "es");
}

TEST_CASE("ARL-09: in strict no text of the input shows internals, wherever it came from") {
  const auto response =
      composed(
          R"({"task": {"task_type": "note", "parameters": {"message": "see /home/app/x.log"}}})")
          .response;

  CHECK(response.assistant_message == "I've created a note task for you: item.");
}

TEST_CASE("ARL-09: in strict, texts that leak only together are not shown either") {
  const auto response =
      composed(R"({"task": {"task_type": "note", "parameters": {"query": "see /etc/"}}})").response;

  CHECK(response.assistant_message == "I've created a task task for you: item.");
}
