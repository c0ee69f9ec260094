#include "treaty/backends/command/command_agent.h"

#include <doctest/doctest.h>

#include <boost/json/array.hpp>

#include "treaty/testing/stores/awaiting.h"

namespace treaty::backends {
namespace {

using boost::json::array;
using contracts::AgentResult;

AgentResult run_shell(const std::string& script, std::string_view question = "{}\n",
                      double timeout = 30) {
  const auto agent =
      read_command_agent({{"command", array{"/bin/sh", "-c", script}}, {"timeout", timeout}}, "/");
  REQUIRE(agent);
  boost::asio::io_context context(1);
  return testing::await(context, run(*agent, question, process::Time::max()));
}

TEST_CASE("A program is told one JSON object, and its plain text is the content") {
  const AgentResult result = run_shell("cat", "{\"input\": \"é");

  CHECK(!result.error);
  CHECK(result.content == "{\"input\": \"é");
  CHECK(result.finish_reason == "stop");
}

TEST_CASE("An AgentResult that a program writes is taken as it is") {
  const AgentResult result = result_of_output(
      R"({"content": "hi", "usage": {"input_tokens": 3, "api_calls": 2}, "cost": 0.5,
          "error": {"code": "rate_limit", "type": "T", "message": "m", "retryable": true}})");

  CHECK(result.content == "hi");
  REQUIRE(result.usage);
  CHECK(result.usage->api_calls == 2);
  REQUIRE(result.error);
  CHECK(result.error->code == "rate_limit");
}

TEST_CASE("What a pi runner writes is understood: cached tokens are part of the input") {
  const AgentResult result = result_of_output(R"({"output": {"content": "hi"}, "content": "hi",
      "usage": {"input": 10, "output": 5, "cacheRead": 100, "cacheWrite": 7, "totalTokens": 122,
                "cost": {"total": 0.25}},
      "cost": 0.25, "raw": {"messages": []}})");

  CHECK(!result.error);
  CHECK(result.content == "hi");
  REQUIRE(result.output);
  REQUIRE(result.usage);
  CHECK(result.usage->input_tokens == 117);
  CHECK(result.usage->output_tokens == 5);
  CHECK(result.usage->cache_read_tokens == 100);
  REQUIRE(result.cost);
  CHECK(std::get<double>(*result.cost) == 0.25);
}

TEST_CASE("Any other object is the output, and any other JSON is text") {
  CHECK(result_of_output(R"({"answer": 42})").output == json::ObjectText{{"answer", 42}});
  CHECK(result_of_output(" [1, 2] \n").content == "[1, 2]");
  CHECK(result_of_output("").content == "");
  CHECK(result_of_output("\xff").content == "\xef\xbf\xbd");
}

TEST_CASE("A result that breaks its contract is a failed call") {
  const AgentResult result = result_of_output(R"({"content": 7})");

  REQUIRE(result.error);
  CHECK(result.error->code == "server_error");
  CHECK(result.error->type == "MalformedAnswer");
}

TEST_CASE("A program that fails is a server_error with its last words") {
  const AgentResult result = run_shell("echo one >&2; echo the reason >&2; echo text; exit 3");

  REQUIRE(result.error);
  CHECK(result.error->code == "server_error");
  CHECK(result.error->retryable == true);
  CHECK(result.error->message.ends_with("ended with exit status 3: the reason"));
  CHECK(result.finish_reason == "error");
  CHECK(!result.content);
}

TEST_CASE("A program that takes too long is ended, whether or not it closed its output") {
  for (const std::string script : {"exec sleep 1000", "exec sleep 1000 >&- 2>&-"}) {
    const AgentResult result = run_shell(script, "{}", 0.1);
    REQUIRE(result.error);
    CHECK(result.error->code == "timeout");
    CHECK(result.error->retryable == true);
  }
}

TEST_CASE("A program that is not there is an agent that is not found") {
  const auto agent = read_command_agent({{"command", array{"./nobody"}}}, "/");
  REQUIRE(agent);
  boost::asio::io_context context(1);

  const AgentResult result = testing::await(context, run(*agent, "{}", process::Time::max()));

  REQUIRE(result.error);
  CHECK(result.error->code == "agent_not_found");
  CHECK(result.error->retryable == false);
}

TEST_CASE("The configuration of a program is checked") {
  const auto fault_of = [](const boost::json::object& config) {
    const auto agent = read_command_agent(config, ".");
    return agent ? std::string() : agent.error();
  };

  CHECK(fault_of({{"command", array{"true"}}}).empty());
  CHECK(fault_of({}).contains("config.command"));
  CHECK(fault_of({{"command", "true"}}).contains("config.command"));
  CHECK(fault_of({{"command", array{}}}).contains("config.command"));
  CHECK(fault_of({{"command", array{""}}}).contains("config.command"));
  CHECK(fault_of({{"command", array{"true", 1}}}).contains("config.command"));
  CHECK(fault_of({{"command", array{"true"}}, {"timeout", 0}}).contains("config.timeout"));
}

}  // namespace
}  // namespace treaty::backends
