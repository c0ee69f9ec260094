#include "treaty/cli/bridge/ask_agent.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <map>

#include "treaty/base/files.h"
#include "treaty/base/timestamp.h"
#include "treaty/bridge/names.h"
#include "treaty/contracts/invoke_result.h"
#include "treaty/testing/temporary_directory.h"

namespace treaty::cli {
namespace {

using namespace contracts;
using Texts = std::vector<std::string>;

// What agents are asked, and what they say: shared by the doors to them.
struct Script {
  std::vector<TurnAnswer> answers{};
  std::vector<AgentExecuteRequest> asked{};
  Texts known{};         // Agents; every other name has none.
  Texts opened_for{};    // Sessions that were opened, by their agents.
  bool refuses = false;  // Sessions are opened here, and unknown agents are told then.
  std::optional<AgentResult> said = AgentResult{
      .content = "No.", .metadata = json::ObjectText{{"backend", "gate"}, {"model", "small-1"}}};
  std::vector<std::pair<std::string, std::string>> events{};  // Of each turn.
  std::function<void()> meanwhile = [] {};
};

class ScriptedDoor final : public GatewayClient {
 public:
  ScriptedDoor(Script& script, OnTurnEvent on_event)
      : script_(script), on_event_(std::move(on_event)) {}

  TurnAnswer ask(const AgentExecuteRequest& request, const OnText& /*on_text*/) override {
    script_.asked.push_back(request);
    script_.meanwhile();
    REQUIRE(!script_.answers.empty());
    TurnAnswer next = script_.answers.front();
    script_.answers.erase(script_.answers.begin());
    for (const auto& [kind, data] : script_.events) on_event_(kind, data);
    return next;
  }
  bool cancel(const std::string&, const std::string&) override { return true; }
  std::expected<std::optional<OpenTurn>, ClientFailure> open_turn(const std::string&) override {
    return std::nullopt;
  }
  std::expected<OpenedSession, ClientFailure> open_session(const std::string& agent) override {
    script_.opened_for.push_back(agent);
    if (script_.refuses && !agent.empty()) {
      return std::unexpected(ClientFailure{kViolated, "no such agent", "agent_not_found"});
    }
    const std::string number = std::to_string(script_.opened_for.size());
    return OpenedSession{"s" + number, "t" + number};
  }
  std::expected<AgentResult, ClientFailure> agent_result(const std::string&,
                                                         const std::string&) override {
    if (!script_.said) return std::unexpected(ClientFailure{kUnavailable, "it cannot be read"});
    return *script_.said;
  }

 private:
  Script& script_;
  OnTurnEvent on_event_;
};

class ScriptedAgents final : public AgentClients {
 public:
  explicit ScriptedAgents(Script& script) : script_(script) {}
  std::unique_ptr<GatewayClient> open_client(Signals& /*signals*/, OnTurnEvent on_event) override {
    return std::make_unique<ScriptedDoor>(script_, std::move(on_event));
  }
  bool may_have(const std::string& agent) const override {
    return std::ranges::find(script_.known, agent) != script_.known.end();
  }

 private:
  Script& script_;
};

TurnAnswer says(std::string text) {
  return {encode(
      InvokeResult{AgentExecuteResponse{"s", "t", "General", FinalResponse{std::move(text)}}})};
}

TurnAnswer fails(std::string code, std::string message = "no") {
  return {encode(InvokeResult{Failure{{InvokeError{
      .error_code = std::move(code), .message = std::move(message), .fatal_error = true}}}})};
}

class Room {
 public:
  Room() : driver_(bridge::Driver::open(directory_.path(), "run")) {
    REQUIRE(driver_);
    const BridgeRequest asked{.request_id = kId,
                              .version = "1.0",
                              .agent_name = "reviewer",
                              .prompt = "Is 2 + 2 = 5?",
                              .created_at = "2026-03-01T08:30:00Z"};
    REQUIRE(replace_file(path(".agent-request.json"), encode(asked)));
  }

  static constexpr const char* kId = "0b8de6c2-3d8f-4a43-8a5c-6a6e2ff1a001";

  std::string path(std::string_view name) const {
    return bridge::path_in(driver_->directory(), name);
  }
  bridge::Exchange exchange() const { return bridge::read_exchange(driver_->directory(), ""); }
  AnswerOutcome ask(Script& script, const AskOptions& options = {.command = "bridge run"},
                    const std::optional<bridge::AskedRequest>& earlier = std::nullopt) {
    ScriptedAgents agents(script);
    Signals signals{};
    return answer_request(*driver_, agents, signals, exchange(), earlier, options);
  }
  Texts events() const {
    Texts events;
    const auto journal = bridge::read_journal(bridge::journal_path(driver_->directory()));
    REQUIRE(journal);
    for (const bridge::Entry& entry : journal->entries) events.push_back(entry.event);
    return events;
  }

 private:
  testing::TemporaryDirectory directory_{};
  std::expected<bridge::Driver, Error> driver_;
};

std::string text_of(const AnswerOutcome& reply) {
  REQUIRE(reply.response);
  const auto* success = std::get_if<BridgeSuccess>(&reply.response->outcome);
  return success == nullptr ? "no success" : success->response;
}

std::optional<std::string> agent_asked(const AgentExecuteRequest& request) {
  return std::get<UserTurn>(request.scenario).agent_context_id;
}

const bridge::AskedRequest kEarlier{Room::kId, "s0", "t0", "", "2026-03-01T08:30:00Z"};

}  // namespace

TEST_CASE("a request is journalled before it is asked, and its answer is on the disk") {
  Room room;
  Script script{.answers = {says("No.")}};
  script.meanwhile = [&] { CHECK(room.events() == Texts{"request.asked"}); };

  const AnswerOutcome reply = room.ask(script);

  CHECK(text_of(reply) == "No.");
  CHECK(reply.response->metadata.find_text("backend") == "gate");
  CHECK(room.events() == Texts{"request.asked", "answer.written"});
  CHECK(room.exchange().response.document == reply.response);
}

TEST_CASE("the agent that the request names is asked, else the default one, unless one is wanted") {
  Room room;
  Script known{.answers = {says("a")}, .known = {"reviewer"}};
  room.ask(known);
  CHECK(agent_asked(known.asked.front()) == "reviewer");

  Room other;
  Script unknown{.answers = {says("a")}};
  other.ask(unknown);
  CHECK(!agent_asked(unknown.asked.front()));

  Room third;
  Script wanted{.answers = {says("a")}, .known = {"reviewer"}};
  third.ask(wanted, {.command = "bridge run", .agent = "writer"});
  CHECK(agent_asked(wanted.asked.front()) == "writer");
}

TEST_CASE("a name that nobody has leads to the default agent, whenever that turns out") {
  Room room;
  Script by_turn{.answers = {fails("agent_not_found"), says("No.")}, .known = {"reviewer"}};
  CHECK(text_of(room.ask(by_turn)) == "No.");
  CHECK(by_turn.opened_for == Texts{"reviewer", ""});

  Room other;
  Script by_session{.answers = {says("No.")}, .known = {"reviewer"}, .refuses = true};
  CHECK(text_of(other.ask(by_session)) == "No.");
  CHECK(by_session.asked.size() == 1);
}

TEST_CASE("an agent that is wanted and not there is no answer") {
  Room room;
  Script script{.refuses = true};

  const AnswerOutcome reply = room.ask(script, {.command = "bridge run", .agent = "writer"});

  CHECK(!reply.response);
  CHECK(reply.exit_code == kViolated);
  CHECK(reply.failure == "no such agent");
  CHECK(room.exchange().waits());
}

TEST_CASE("the answer is what the agent said, not the sealed text of the turn") {
  for (const std::string text : {R"({"a":1})", "  indented\n", "data:image/png;base64,AAAA"}) {
    CAPTURE(text);
    Room room;
    Script script{.answers = {says("sealed")}, .said = AgentResult{.content = text}};

    CHECK(text_of(room.ask(script)) == text);

    CHECK(std::get<BridgeSuccess>(room.exchange().response.document->outcome).response == text);
  }
}

TEST_CASE("what the agent said cannot be had: nothing is answered, and it is asked for again") {
  Room room;
  Script script{.answers = {says("sealed")}, .said = std::nullopt};

  const AnswerOutcome reply = room.ask(script);

  CHECK(!reply.response);
  CHECK(reply.exit_code == kUnavailable);
  CHECK(reply.failure == "it cannot be read");
  CHECK(room.events() == Texts{"request.asked"});
}

TEST_CASE("an answer that no response file can hold is an error") {
  Room room;
  Script script{.answers = {says("sealed")},
                .said = AgentResult{.content = std::string(bridge::kLargestFile, 'x')}};

  const AnswerOutcome reply = room.ask(script);

  REQUIRE(reply.response);
  REQUIRE(std::holds_alternative<BridgeError>(reply.response->outcome));
  CHECK(room.exchange().answer == bridge::AnswerState::answered);
}

TEST_CASE("waits of more than a second, and of unknown length, are told") {
  Room room;
  Script script{.answers = {says("No.")}};
  script.events = {{"waiting", R"({"Backend":"a","Seconds":29.5,"Reason":"its breaker is open"})"},
                   {"waiting", R"({"Backend":"a","Seconds":1,"Reason":"a moment"})"},
                   {"waiting", R"({"Backend":"a","Reason":"others came before"})"},
                   {"attempt.failed", R"({"Backend":"a"})"}};
  Texts told;

  room.ask(script, {.command = "bridge run",
                    .tell = [&](const bridge::Exchange& exchange, const std::string& text) {
                      CHECK(exchange.request.document->request_id == Room::kId);
                      told.push_back(text);
                    }});

  CHECK(told == Texts{"waiting for a: its breaker is open", "waiting for a: others came before"});
}

TEST_CASE("a model that the request names and that was not asked is told, and in the answer") {
  for (const auto& [wanted, is_told] :
       std::map<std::string, bool>{{"large-9", true}, {"small-1", false}, {"", false}}) {
    CAPTURE(wanted);
    Room room;
    BridgeRequest asked = *room.exchange().request.document;
    asked.model = wanted;
    REQUIRE(replace_file(room.path(".agent-request.json"), encode(asked)));
    Script script{.answers = {says("No.")}};
    Texts told;

    const AnswerOutcome reply = room.ask(
        script,
        {.command = "bridge run",
         .tell = [&](const bridge::Exchange&, const std::string& text) { told.push_back(text); }});

    REQUIRE(reply.response);
    CHECK(reply.response->metadata.contains("requested_model") == is_told);
    CHECK(reply.response->metadata.find_text("model") == "small-1");
    REQUIRE(told.size() == (is_told ? 1U : 0U));
    if (is_told) CHECK(told.front().contains("names the model large-9"));
  }
}

TEST_CASE("an agent that fails is an answer") {
  Room room;
  Script script{.answers = {fails("rate_limit", "too many")}};

  const AnswerOutcome reply = room.ask(script);

  REQUIRE(reply.response);
  const auto* error = std::get_if<BridgeError>(&reply.response->outcome);
  REQUIRE(error != nullptr);
  CHECK(error->error_type == "rate_limit");
  CHECK(error->error_message == "too many");
  CHECK(room.exchange().answer == bridge::AnswerState::answered);
}

TEST_CASE("a failure that no agent had a part in is no answer, and the question is given up") {
  for (const std::string code :
       {"unauthenticated", "forbidden", "overloaded", "store_unavailable"}) {
    CAPTURE(code);
    Room room;
    Script script{.answers = {fails(code, "not now")}};

    const AnswerOutcome reply = room.ask(script);

    CHECK(!reply.response);
    CHECK(reply.exit_code != kOk);
    CHECK(reply.failure.contains("not now"));
    CHECK(room.exchange().waits());
    CHECK(room.events() == Texts{"request.asked", "request.given_up"});
  }
}

TEST_CASE("a client behind which nobody is leaves the request waiting") {
  Room room;
  Script script{.answers = {{.failure = "nobody listens there"}}};

  const AnswerOutcome reply = room.ask(script);

  CHECK(!reply.response);
  CHECK(reply.exit_code == kUnavailable);
  CHECK(reply.failure.contains("nobody listens there"));
}

TEST_CASE("a signal gives the question up, unless its answer has come") {
  Room room;
  TurnAnswer cancelled = fails("turn_cancelled");
  cancelled.signal = SIGINT;
  Script script{.answers = {cancelled}};
  const AnswerOutcome reply = room.ask(script);
  CHECK(reply.signal == SIGINT);
  CHECK(!reply.response);
  CHECK(room.events() == Texts{"request.asked", "request.given_up"});

  Room other;
  TurnAnswer late = says("No.");
  late.signal = SIGINT;
  Script in_time{.answers = {late}};
  const AnswerOutcome kept = other.ask(in_time);
  CHECK(kept.signal == SIGINT);
  CHECK(text_of(kept) == "No.");
  CHECK(other.exchange().answer == bridge::AnswerState::answered);
}

TEST_CASE("a question that was put before is taken up under its old ids") {
  Room room;
  Script script{.answers = {says("No.")}};

  CHECK(text_of(room.ask(script, {.command = "bridge run"}, kEarlier)) == "No.");

  CHECK(script.opened_for.empty());
  CHECK(script.asked.front().session_id == "s0");
  CHECK(script.asked.front().turn_id == "t0");
  CHECK(room.events() == Texts{"answer.written"});
}

TEST_CASE("a question of which nothing can come any more is put anew") {
  for (const std::string code :
       {"idempotency_conflict", "agent_not_found", "agent_mismatch", "session_not_found"}) {
    CAPTURE(code);
    Room room;
    Script script{.answers = {fails(code), says("No.")}};

    CHECK(text_of(room.ask(script, {.command = "bridge run"}, kEarlier)) == "No.");

    CHECK(script.asked.size() == 2);
    CHECK(script.asked.back().session_id == "s1");
  }
}

TEST_CASE("a turn that was cancelled in time is put anew; one that was late has timed out") {
  Room room;
  Script script{.answers = {fails("turn_cancelled"), says("No.")}};
  bridge::AskedRequest fresh = kEarlier;
  fresh.at = timestamp_now();
  CHECK(text_of(room.ask(script, {.command = "bridge run"}, fresh)) == "No.");

  Room other;
  Script late{.answers = {fails("turn_cancelled")}};
  const AnswerOutcome reply = other.ask(late, {.command = "bridge run"}, kEarlier);
  REQUIRE(reply.response);
  CHECK(std::holds_alternative<BridgeTimeout>(reply.response->outcome));
}

TEST_CASE("whoever was faster has answered") {
  Room room;
  Script script{.answers = {says("slow")}};
  script.meanwhile = [&] {
    const BridgeResponse fast{
        .request_id = Room::kId, .outcome = BridgeSuccess{"fast"}, .created_at = timestamp_now()};
    REQUIRE(replace_file(room.path(".agent-response.json"), encode(fast)));
  };

  CHECK(text_of(room.ask(script)) == "fast");
}

TEST_CASE("an answer that cannot be written is kept by the turn: the next try takes it up") {
  Room room;
  Script script{.answers = {says("No.")}};
  script.meanwhile = [&] {
    std::filesystem::remove_all(bridge::quarantine_path(room.path("")));
    REQUIRE(replace_file(bridge::quarantine_path(room.path("")), "in the way"));
    REQUIRE(replace_file(room.path(".agent-response.json"), "in the way, too"));
  };

  const AnswerOutcome reply = room.ask(script);

  CHECK(!reply.response);
  CHECK(reply.exit_code == kUnavailable);
  CHECK(room.events() == Texts{"request.asked"});
}

}  // namespace treaty::cli
