#include "treaty/cli/run/run_request.h"

#include <doctest/doctest.h>

namespace treaty::cli {

TEST_CASE("the path of an artifact stays inside, however it was written") {
  CHECK(artifact_path("docs/notes.md") == "docs/notes.md");
  CHECK(artifact_path("./docs//notes.md") == "docs/notes.md");
  CHECK(artifact_path("/etc/hosts") == "etc/hosts");
  CHECK(artifact_path("../../other/notes.md") == "other/notes.md");
  CHECK(artifact_path("docs/../notes.md") == "notes.md");
  CHECK(artifact_path("~notes") == "./~notes");
  CHECK(artifact_path("c:notes") == "./c:notes");
}

TEST_CASE("a text makes a streamed user turn with ids of its own") {
  const auto first = read_run_request({.positionals = {"Say hi."}, .options = {}});
  const auto second = read_run_request(
      {.positionals = {"Say hi."},
       .options = {{"--session", "s1"}, {"--agent", "reviewer"}, {"--no-stream", "true"}}});

  REQUIRE(first.value());
  REQUIRE(second.value());
  CHECK((*first)->session_id.size() == 36);
  CHECK((*first)->turn_id != (*second)->turn_id);
  const auto& turn = std::get<contracts::UserTurn>((*first)->scenario);
  CHECK(turn.instruction == "Say hi.");
  CHECK(turn.streaming);
  CHECK((*second)->session_id == "s1");
  const auto& other = std::get<contracts::UserTurn>((*second)->scenario);
  CHECK(other.agent_context_id == "reviewer");
  CHECK(!other.streaming);
}

TEST_CASE("a session and nothing to say is no request: what waits there is meant") {
  const auto nothing = read_run_request({.positionals = {}, .options = {{"--session", "s1"}}});

  REQUIRE(nothing);
  CHECK(!*nothing);
  CHECK(!read_run_request({.positionals = {}, .options = {}}));
  CHECK(!read_run_request(
      {.positionals = {}, .options = {{"--session", "s1"}, {"--agent", "reviewer"}}}));
}

TEST_CASE("what no gateway would take is refused before one is opened") {
  const auto refused = [](const Arguments& arguments) {
    const auto request = read_run_request(arguments);
    return request ? std::string() : request.error().message;
  };

  CHECK(refused({.positionals = {" "}, .options = {}}).contains("say something"));
  CHECK(refused({.positionals = {"a", "b"}, .options = {}}).contains("quotes"));
  CHECK(refused({.positionals = {"\xff"}, .options = {}}).contains("UTF-8"));
  CHECK(refused({.positionals = {"a"}, .options = {{"--session", "  "}}}).contains("REQ-01"));
  CHECK(refused({.positionals = {"a"}, .options = {}, .lists = {{"--file", {"/nowhere/x"}}}})
            .contains("/nowhere/x"));
}

}  // namespace treaty::cli
