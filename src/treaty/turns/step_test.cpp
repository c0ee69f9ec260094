#include "treaty/turns/step.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

#include <limits>
#include <set>

#include "treaty/testing/generators.h"

using namespace treaty;
using namespace treaty::turns;
using backends::ToolMessage;
using contracts::AgentError;
using contracts::AgentResult;
using contracts::AgentToolCall;

namespace {

AgentRole role_with_tools() {
  AgentRole role;
  for (const char* name : {"read_file", "list_files"}) {
    role.tools.push_back({.declaration = {.name = name}});
  }
  return role;
}

AgentResult said(std::string text, std::string finish_reason = "stop") {
  AgentResult result;
  result.content = std::move(text);
  result.finish_reason = std::move(finish_reason);
  return result;
}

AgentResult called(std::vector<AgentToolCall> calls, std::string finish_reason = "tool_use") {
  AgentResult result;
  result.tool_calls = std::move(calls);
  result.finish_reason = std::move(finish_reason);
  return result;
}

Stepped step(const AgentResult& result, Progress progress = {}) {
  return next_step(role_with_tools(), 8, std::move(progress), result);
}

template <class Kind>
const Kind& as(const Stepped& stepped) {
  REQUIRE(std::holds_alternative<Kind>(stepped.step));
  return std::get<Kind>(stepped.step);
}

// What the model is told about its only call.
std::string refusal_of(AgentToolCall call) {
  const Stepped stepped = step(called({std::move(call)}));
  const auto& results = as<AskAgain>(stepped).results;
  REQUIRE(results.size() == 1);
  CHECK(results[0].failed);
  CHECK(stepped.notes.size() == 1);
  return results[0].content;
}

}  // namespace

// --- Ends

TEST_CASE("an answer that is too large is not worth the same turn again") {
  AgentResult result{.finish_reason = "error"};
  result.error = contracts::AgentError{
      .message = "?", .code = "server_error", .type = "AnswerTooLarge", .retryable = true};

  const Stepped stepped = next_step({}, 8, {}, result);

  REQUIRE(std::holds_alternative<Fail>(stepped.step));
  CHECK(std::get<Fail>(stepped.step).error.retryable == false);
}

TEST_CASE("a text is the end, whatever word a provider has for it") {
  for (const char* reason : {"stop", "end_of_everything", "tool_use"}) {
    const Stepped stepped = step(said("Done.", reason));

    CHECK(as<Finish>(stepped).text == "Done.");
    CHECK(!as<Finish>(stepped).was_cut);
    CHECK(stepped.said.text == "Done.");
  }
  AgentResult result;
  result.content = "Done.";
  CHECK(as<Finish>(step(result)).text == "Done.");
}

TEST_CASE("an answer that was cut at its length says so") {
  CHECK(as<Finish>(step(said("Once upon", "length"))).was_cut);
}

TEST_CASE("an answer of neither text nor calls is an empty end") {
  CHECK(as<Finish>(step(said(""))).text.empty());
  CHECK(as<Finish>(step(AgentResult{})).text.empty());
  CHECK(as<Finish>(step(called({}, "stop"))).text.empty());
}

TEST_CASE("a structured output without a text is the text") {
  AgentResult result;
  result.output = json::ObjectText{{"a", 1}};

  CHECK(as<Finish>(step(result)).text == R"({"a":1})");
}

TEST_CASE("a text that is no UTF-8 is repaired before anybody keeps it") {
  CHECK(as<Finish>(step(said("a\xFF"))).text == "a\uFFFD");
}

// --- Failures

TEST_CASE("an error ends the turn as it is, even beside a text and calls") {
  AgentResult result = called({{"c", "read_file", "{}"}});
  result.error = AgentError{.message = "slow down", .code = "rate_limit", .retryable = true};

  CHECK(as<Fail>(step(result)).error == *result.error);
}

TEST_CASE("a filtered answer is a failure that is not tried again") {
  const Stepped stepped = step(said("I cannot", "content_filter"));

  CHECK(as<Fail>(stepped).error.code == "content_filter");
  CHECK(as<Fail>(stepped).error.retryable == false);
}

TEST_CASE("an end in an error that nobody named is a server error that may be tried again") {
  for (const char* reason : {"error", "aborted"}) {
    const Stepped stepped = step(said("half", reason));

    CHECK(as<Fail>(stepped).error.code == "server_error");
    CHECK(as<Fail>(stepped).error.retryable == true);
  }
}

TEST_CASE("a model that wants tools but calls none and says nothing has failed") {
  CHECK(as<Fail>(step(called({}))).error.code == "server_error");
}

// --- Calls

TEST_CASE("calls go to the client in the model's order, with the text beside them") {
  AgentResult result = called({{"b", "list_files", ""}, {"a", "read_file", R"( {"path": "x"} )"}});
  result.content = "Let me see.";
  const Stepped stepped = step(result);

  const auto& ask = as<AskClient>(stepped);
  CHECK(ask.calls == std::vector<contracts::ToolCall>{{"b", "list_files", "{}"},
                                                      {"a", "read_file", R"( {"path": "x"} )"}});
  CHECK(ask.known.empty());
  CHECK(ask.text == "Let me see.");
  CHECK(stepped.progress.tool_rounds == 1);
  CHECK(stepped.said.tool_calls.size() == 2);
  CHECK(stepped.said.text == "Let me see.");
}

TEST_CASE("calls are calls even when the model says that it stopped") {
  CHECK(as<AskClient>(step(called({{"a", "read_file", "{}"}}, "stop"))).calls.size() == 1);
}

TEST_CASE("an unknown tool is a failed result that names the tools there are") {
  CHECK(refusal_of({"a", "rm_rf", "{}"}) ==
        "There is no tool named rm_rf. The tools are: read_file, list_files.");
  CHECK(
      as<AskAgain>(next_step(AgentRole{}, 8, {}, called({{"a", "f", "{}"}}))).results[0].content ==
      "There is no tool named f. There are no tools here: answer in words.");
}

TEST_CASE("arguments that are no JSON object are a failed result") {
  CHECK(refusal_of({"a", "read_file", "path=x"}).starts_with("The arguments are not valid JSON: "));
  CHECK(refusal_of({"a", "read_file", R"({"a":1,"a":2})"}).starts_with("The arguments are not "));
  CHECK(refusal_of({"a", "read_file", "\"\xFF\""}).starts_with("The arguments are not valid JSON"));
  CHECK(refusal_of({"a", "read_file", "[1]"}) == "The arguments are not a JSON object.");
  CHECK(refusal_of({"a", "read_file", "null"}) == "The arguments are not a JSON object.");
}

TEST_CASE("arguments that do not fit the parameters go back to the model, never to the tool") {
  AgentRole role = role_with_tools();
  auto schema = schema::Schema::compile(
      R"({"type":"object","properties":{"path":{"type":"string"}},"required":["path"]})");
  REQUIRE(schema);
  role.tools[0].parameters = std::make_shared<schema::Schema>(*std::move(schema));

  const Stepped wrong = next_step(role, 8, {}, called({{"a", "read_file", R"({"path":7})"}}));
  const Stepped right = next_step(role, 8, {}, called({{"a", "read_file", R"({"path":"x"})"}}));

  CHECK(as<AskAgain>(wrong).results[0].content.starts_with(
      "The arguments do not fit the tool's parameters, at /path: "));
  CHECK(as<AskClient>(right).calls.size() == 1);
}

TEST_CASE("a name that is none is refused and never told to a provider again") {
  const Stepped stepped = step(
      called({{"a", "read file\n", "{}"}, {"b", "", "{}"}, {"c", std::string(65, 'x'), "{}"}}));

  CHECK(as<AskAgain>(stepped).results.size() == 3);
  CHECK(stepped.said.tool_calls[0].name == "read_file_");
  CHECK(stepped.said.tool_calls[1].name == "unnamed");
  CHECK(stepped.said.tool_calls[2].name == std::string(64, 'x'));
}

TEST_CASE("arguments of 50 MB are a failed result, and are not kept") {
  const Stepped stepped = step(called(
      {{"a", "read_file", R"({"path":")" + std::string(std::size_t{50} << 20U, 'x') + "\"}"}}));

  CHECK(as<AskAgain>(stepped).results[0].content ==
        "The arguments have 52428811 bytes; at most 1048576 are allowed.");
  CHECK(stepped.said.tool_calls[0].arguments == "{}");
}

TEST_CASE("a refusal that quotes the model has an end") {
  const std::string name(500'000, 'n');

  CHECK(refusal_of({"a", "read_file", R"({")" + name + R"(":1,")" + name + "\":2}"}).size() <=
        2'000);
}

TEST_CASE("all arguments together stay small enough for one answer to the client") {
  std::vector<AgentToolCall> calls;
  calls.reserve(6);
  for (int i = 0; i < 6; ++i) {
    calls.push_back({fmt::format("c{}", i), "read_file",
                     fmt::format(R"({{"n":{},"path":"{}"}})", i, std::string(1'000'000, 'x'))});
  }
  const Stepped stepped = step(called(calls));

  CHECK(as<AskClient>(stepped).calls.size() == 4);
  CHECK(as<AskClient>(stepped).known.size() == 2);
}

TEST_CASE("of ten thousand calls none is run, and only the first ones are kept") {
  std::vector<AgentToolCall> calls;
  calls.reserve(10'000);
  for (int i = 0; i < 10'000; ++i) calls.push_back({fmt::format("c{}", i), "read_file", "{}"});
  const Stepped stepped = step(called(calls));

  const auto& results = as<AskAgain>(stepped).results;
  CHECK(results.size() == kMostCalls);
  CHECK(stepped.said.tool_calls.size() == kMostCalls);
  CHECK(results[0].content ==
        "There were 10000 calls in one answer; at most 128 are allowed, and none was run.");
  CHECK(stepped.notes.size() == 1);
}

TEST_CASE("128 calls of one answer are run") {
  std::vector<AgentToolCall> calls;
  calls.reserve(128);
  for (int i = 0; i < 128; ++i) {
    calls.push_back({fmt::format("c{}", i), "read_file", fmt::format(R"({{"n":{}}})", i)});
  }

  CHECK(as<AskClient>(step(called(calls))).calls.size() == 128);
}

TEST_CASE("of an answer that was cut the last call is not run") {
  const Stepped stepped =
      step(called({{"a", "read_file", R"({"path":"x"})"}, {"b", "read_file", "{}"}}, "length"));

  const auto& ask = as<AskClient>(stepped);
  REQUIRE(ask.calls.size() == 1);
  CHECK(ask.calls[0].tool_call_id == "a");
  REQUIRE(ask.known.size() == 1);
  CHECK(ask.known[0].tool_call_id == "b");
}

TEST_CASE("what is refused here is known to the model beside what the client runs") {
  const Stepped stepped = step(called({{"a", "nothing", "{}"}, {"b", "read_file", "{}"}}));

  const auto& ask = as<AskClient>(stepped);
  CHECK(ask.calls.size() == 1);
  REQUIRE(ask.known.size() == 1);
  CHECK(ask.known[0].tool_call_id == "a");
  CHECK(stepped.notes.size() == 1);
  CHECK(stepped.notes[0].kind == "tool.refused");
}

// --- Ids

TEST_CASE("ids that are missing, double, blank or absurd are replaced, and good ones stay") {
  const Stepped stepped = step(called({{"", "read_file", R"({"n":1})"},
                                       {"x", "read_file", R"({"n":2})"},
                                       {"x", "read_file", R"({"n":3})"},
                                       {" ", "read_file", R"({"n":4})"},
                                       {"a\nb", "read_file", R"({"n":5})"},
                                       {std::string(500, 'i'), "read_file", R"({"n":6})"},
                                       {"\xFF", "read_file", R"({"n":7})"}}));

  std::set<std::string> ids;
  for (const auto& call : as<AskClient>(stepped).calls) ids.insert(call.tool_call_id);
  CHECK(ids.size() == 7);
  CHECK(ids.contains("x"));
  for (const std::string& id : ids) CHECK((id == "x" || id.starts_with("call_")));
  CHECK(stepped.said.tool_calls[1].id == "x");
}

TEST_CASE("an id that an earlier round of the turn used is replaced") {
  const Stepped first = step(called({{"call_1", "read_file", R"({"n":1})"}}));
  const Stepped second = step(called({{"call_1", "read_file", R"({"n":2})"}}), first.progress);

  CHECK(as<AskClient>(first).calls[0].tool_call_id == "call_1");
  CHECK(as<AskClient>(second).calls[0].tool_call_id != "call_1");
  CHECK(second.said.tool_calls[0].id == as<AskClient>(second).calls[0].tool_call_id);
}

// --- Loops

TEST_CASE("the same call for the third time is suppressed, however it is written") {
  Progress progress;
  for (const char* arguments : {R"({"a":1,"b":{"c":"A","d":[1, 2]}})",
                                " { \"b\" : {\"d\":[1,2] , \"c\":\"\\u0041\"},\n\"a\":1 } "}) {
    const Stepped stepped = step(called({{"", "read_file", arguments}}), std::move(progress));
    CHECK(as<AskClient>(stepped).calls.size() == 1);
    progress = stepped.progress;
  }
  const Stepped third =
      step(called({{"", "read_file", R"({"b":{"c":"A","d":[1,2]},"a":1})"}}), progress);

  const auto& results = as<AskAgain>(third).results;
  REQUIRE(results.size() == 1);
  CHECK(results[0].failed);
  CHECK(results[0].content.starts_with("This call was made 2 times before"));
  REQUIRE(third.notes.size() == 1);
  CHECK(third.notes[0].kind == "tool.suppressed");
}

TEST_CASE("other arguments, another tool or another order of a list make another call") {
  Progress progress;
  const std::vector<AgentToolCall> calls = {
      {"", "read_file", R"({"a":[1,2]})"},         {"", "read_file", R"({"a":[2,1]})"},
      {"", "read_file", R"({"a":["1",2]})"},       {"", "list_files", R"({"a":[1,2]})"},
      {"", "read_file", R"({"a":{"b":1},"c":2})"}, {"", "read_file", R"({"a":{"b":1,"c":2}})"}};
  for (int round = 0; round < 2; ++round) {
    const Stepped stepped = step(called(calls), std::move(progress));
    CHECK(as<AskClient>(stepped).calls.size() == calls.size());
    progress = stepped.progress;
  }
}

TEST_CASE("three equal calls in one answer are two") {
  const AgentToolCall call{"", "read_file", "{}"};

  CHECK(as<AskClient>(step(called({call, call, call}))).calls.size() == 2);
}

TEST_CASE("past the rounds that an agent has the turn fails") {
  Progress progress;
  for (int round = 0; round < 2; ++round) {
    const Stepped stepped =
        next_step(role_with_tools(), 2, std::move(progress),
                  called({{"", "read_file", fmt::format(R"({{"n":{}}})", round)}}));
    CHECK(std::holds_alternative<AskClient>(stepped.step));
    progress = stepped.progress;
  }
  const Stepped last = next_step(role_with_tools(), 2, progress, called({{"", "read_file", "{}"}}));
  const Stepped text = next_step(role_with_tools(), 2, progress, said("Done."));

  CHECK(as<Fail>(last).error.code == "max_rounds");
  CHECK(as<Fail>(last).error.retryable == false);
  CHECK(as<Finish>(text).text == "Done.");
}

// --- Usage

TEST_CASE("usage and cost of all rounds are added up, those of failures too") {
  AgentResult first = called({{"a", "read_file", "{}"}});
  first.usage =
      contracts::UsageInfo{.input_tokens = 10, .output_tokens = 5, .cache_read_tokens = 4};
  first.cost = contracts::CostInfo{.input = 0.5, .output = 0.25};
  AgentResult second = said("Done.");
  second.usage = contracts::UsageInfo{.input_tokens = 20, .output_tokens = 1, .total_tokens = 22};
  second.cost = 1.0;
  AgentResult third;
  third.error = AgentError{.message = "no"};
  third.usage = contracts::UsageInfo{.input_tokens = 1};

  const Progress progress = step(third, step(second, step(first).progress).progress).progress;

  CHECK(progress.usage == contracts::Usage{31, 6, 38, 4, {}});
  CHECK(progress.cost == doctest::Approx(1.75));
}

TEST_CASE("counts that nobody gave are absent, and absurd ones do not wrap around") {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  AgentResult result = said("a");
  CHECK(!step(result).progress.usage);

  result.usage = contracts::UsageInfo{.input_tokens = kMost, .output_tokens = -5};
  const Progress progress = step(result, step(result).progress).progress;

  CHECK(progress.usage == contracts::Usage{kMost, 0, kMost, {}, {}});
}

// --- Order

TEST_CASE("results stand in the order of the calls, one for each") {
  const backends::AssistantMessage message{
      .tool_calls = {{"a", "f", "{}"}, {"b", "g", "{}"}, {"c", "h", "{}"}}};

  CHECK(in_order_of_calls(
            message, {{"c", "h", "3", false}, {"z", "?", "0", false}, {"a", "f", "1", true}}) ==
        std::vector<ToolMessage>{{"a", "f", "1", true},
                                 {"b", "g", "There is no result of this call.", true},
                                 {"c", "h", "3", false}});
}

TEST_CASE("whatever a model answers, what the client gets keeps TOOL-01 and TOOL-02") {
  CHECK(rc::check([] {
    AgentResult result = *testing::any_agent_result();
    std::vector<AgentToolCall> calls;
    for (int i = *rc::gen::inRange(0, 5); i > 0; --i) {
      calls.push_back(
          {*rc::gen::oneOf(rc::gen::element<std::string>("", "a", "b"), testing::any_text()),
           *rc::gen::element<std::string>("read_file", "list_files", "x", ""),
           *rc::gen::oneOf(rc::gen::element<std::string>("{}", "{\"a\":1}", ""),
                           testing::any_bytes())});
    }
    result.tool_calls = calls;
    result.error.reset();
    result.finish_reason = *rc::gen::element<std::string>("stop", "tool_use", "length");
    const Stepped stepped = step(result);
    const auto* ask = std::get_if<AskClient>(&stepped.step);
    if (ask == nullptr) return;

    contracts::AgentExecuteResponse response{
        .session_id = "s",
        .turn_id = "t",
        .mode_display_name = "m",
        .kind = contracts::ClientToolContinuation{.tool_calls = ask->calls}};
    RC_ASSERT(static_cast<bool>(contracts::decode_agent_execute_response(encode(response))));
    RC_ASSERT(ask->calls.size() + ask->known.size() == calls.size());
    RC_ASSERT(stepped.said.tool_calls.size() == calls.size());
  }));
}
