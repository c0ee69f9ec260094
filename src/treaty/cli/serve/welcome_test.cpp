#include "treaty/cli/serve/welcome.h"

#include <doctest/doctest.h>

#include "treaty/base/json.h"
#include "treaty/contracts/agent_execute_request.h"

namespace treaty::cli::serve {
namespace {

config::Configuration demo() {
  config::Configuration configuration;
  configuration.store = "sqlite:///var/lib/treaty.db";
  configuration.notes = {"agent default: the built-in demo, since no key is set"};
  return configuration;
}

// The body of the curl line that begins after `from`.
std::string body_of(const std::string& page, std::string_view from) {
  const std::size_t begin = page.find("-d '", page.find(from)) + 4;
  return page.substr(begin, page.find('\'', begin) - begin);
}

}  // namespace

TEST_CASE("an address is one that a client on this machine can call") {
  CHECK(url_of({.address = "127.0.0.1"}, 8088) == "http://127.0.0.1:8088");
  CHECK(url_of({.address = "0.0.0.0"}, 80) == "http://127.0.0.1:80");
  CHECK(url_of({.address = "::"}, 80) == "http://[::1]:80");
  CHECK(url_of({.address = "fe80::1"}, 80) == "http://[fe80::1]:80");
}

TEST_CASE("the page says where it is, who answers, why, and where the journal is") {
  const std::string page = welcome(demo(), 4711, "s");

  CHECK(page.contains("listens on http://127.0.0.1:4711\n"));
  CHECK(page.contains("agent default: the built-in demo, since no key is set"));
  CHECK(page.contains("journal: /var/lib/treaty.db\n"));
  CHECK(page.contains("OPENAI_API_KEY"));
  CHECK(page.contains("Ctrl-C"));
}

TEST_CASE("the lines to try are requests that keep their contract") {
  const std::string page = welcome(demo(), 4711, "try-1");

  const auto plain = contracts::decode_agent_execute_request(body_of(page, "Try it"));
  const auto streamed = contracts::decode_agent_execute_request(body_of(page, "As a stream"));

  REQUIRE(plain);
  REQUIRE(streamed);
  CHECK(plain->session_id == "try-1");
  CHECK(!std::get<contracts::UserTurn>(plain->scenario).streaming);
  CHECK(std::get<contracts::UserTurn>(streamed->scenario).streaming);
  CHECK(streamed->turn_id != plain->turn_id);
  CHECK(page.contains("curl -s http://127.0.0.1:4711/v1/agent/execute"));
}

TEST_CASE("with keys the lines to try send one") {
  config::Configuration configuration = demo();
  configuration.keys = {{"acme", std::string(64, '0')}};

  const std::string page = welcome(configuration, 4711, "s");

  CHECK(page.contains("-H \"Authorization: Bearer $TREATY_KEY\""));
  CHECK(page.contains("--key-env TREATY_KEY"));
  CHECK(!page.contains("000000"));
}

TEST_CASE("agents of a file are told with their first choice") {
  config::Configuration configuration = demo();
  configuration.notes.clear();
  configuration.source = "treaty.yaml";
  configuration.turns.agents["default"].chain = {{.backend = "main", .model = "gpt-5"}};
  configuration.backends["main"] = config::HttpProvider{.kind = "openai"};

  const std::string page = welcome(configuration, 4711, "s");

  CHECK(page.contains("agent default: gpt-5 of main, as treaty.yaml says"));
  CHECK(!page.contains("OPENAI_API_KEY"));
}

TEST_CASE("where sessions are opened first, no line is printed that would be refused") {
  config::Configuration configuration = demo();
  configuration.turns.explicit_sessions = true;

  const std::string page = welcome(configuration, 4711, "s");

  CHECK(!page.contains("curl"));
  CHECK(page.contains("POST http://127.0.0.1:4711/v1/sessions"));
}

TEST_CASE("a program reads one line of JSON") {
  const std::string line = ready_line(demo(), 4711, 42);

  const json::Document document(line);
  REQUIRE(document.faults().empty());
  CHECK(json::find_text(document.root(), "url") == "http://127.0.0.1:4711");
  CHECK(json::find_member(document.root(), "port")->integer() == 4711);
  CHECK(json::find_member(document.root(), "pid")->integer() == 42);
  CHECK(line.find('\n') == line.size() - 1);
}

TEST_CASE("where no agent is meant by default, the lines to try name one") {
  config::Configuration configuration = demo();
  configuration.turns.agents["Bob's"] = {.name = "Bob's"};
  CHECK(!welcome(configuration, 4711, "s").contains("AgentContextId"));
  configuration.turns.agents["other"] = {.name = "other"};

  const std::string page = welcome(configuration, 4711, "s");

  CHECK(page.contains(R"("AgentContextId":"Bob'\''s")"));
  CHECK(page.contains(R"(--agent 'Bob'\''s')"));
}

}  // namespace treaty::cli::serve
