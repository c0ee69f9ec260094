#include "treaty/bridge/invoke.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "treaty/base/files.h"
#include "treaty/base/timestamp.h"
#include "treaty/bridge/exchange.h"
#include "treaty/bridge/names.h"
#include "treaty/testing/temporary_directory.h"

using namespace treaty;
using namespace treaty::bridge;
using contracts::BridgeResponse;
using contracts::BridgeSuccess;

namespace fs = std::filesystem;

namespace {

const BridgeQuestion kReview{.agent_name = "reviewer", .prompt = "Is 2 + 2 = 5?", .phase = 1};

class Room {
 public:
  const std::string& path() const { return directory_.path(); }
  std::string file(std::string_view name) const { return path_in(path(), name); }

  auto ask(const BridgeQuestion& question) const { return invoke(question, path()); }

  contracts::BridgeRequest request(const std::string& suffix = "-phase1") const {
    const auto exchange = read_exchange(path(), suffix);
    REQUIRE(exchange.is_asked());
    return *exchange.request.document;
  }

  void write(std::string_view name, std::string_view text) const {
    REQUIRE(replace_file(file(name), text));
  }

  BridgeResponse answer_to(const contracts::BridgeRequest& request) const {
    return {.request_id = request.request_id,
            .outcome = BridgeSuccess{"No."},
            .created_at = timestamp_now()};
  }

  void answer(const BridgeResponse& response, const std::string& suffix = "-phase1") const {
    write(response_name(suffix), encode(response));
  }

  std::size_t in_quarantine() const {
    std::error_code ignored;
    const auto kept = fs::directory_iterator(quarantine_path(path()), ignored);
    return static_cast<std::size_t>(std::distance(begin(kept), end(kept)));
  }

 private:
  testing::TemporaryDirectory directory_{};
};

}  // namespace

TEST_CASE("a question becomes a request that keeps its contract, and the program is to leave") {
  const Room room;

  const auto answer = room.ask({.agent_name = "reviewer",
                                .prompt = "Is it?",
                                .phase_name = "check",
                                .timeout_seconds = 30,
                                .context = {{"file", "a.cpp"}},
                                .model = "small"});

  REQUIRE(!answer);
  CHECK(answer.error().exit_code == 42);
  CHECK(answer.error().message.contains(room.file(".agent-request.json")));
  const auto request = room.request("");
  CHECK(request.agent_name == "reviewer");
  CHECK(request.prompt == "Is it?");
  CHECK(request.phase_name == "check");
  CHECK(request.timeout_seconds == 30);
  CHECK(request.context == json::ObjectText{{"file", "a.cpp"}});
  CHECK(request.model == "small");
  CHECK(!request.phase);
}

TEST_CASE("the request names the answer's place absolutely, however the directory was named") {
  const Room room;
  const fs::path before = fs::current_path();
  fs::current_path(room.path());

  const auto answer = invoke(kReview);
  fs::current_path(before);

  REQUIRE(!answer);
  CHECK(room.request().response_file == fs::canonical(room.path()) / ".agent-response-phase1.json");
}

TEST_CASE("the same question again leaves its request as it is") {
  const Room room;
  CHECK(!room.ask(kReview));
  const auto first = room.request();

  const auto again = room.ask(kReview);

  CHECK(again.error().exit_code == 42);
  CHECK(room.request() == first);
}

TEST_CASE("an answer comes back as often as it is asked for, and its files stay") {
  const Room room;
  CHECK(!room.ask(kReview));
  const BridgeResponse given = room.answer_to(room.request());
  room.answer(given);

  for (int time = 0; time < 2; ++time) {
    const auto answer = room.ask(kReview);

    REQUIRE(answer);
    CHECK(*answer == given);
  }
  CHECK(fs::exists(room.file(".agent-request-phase1.json")));
}

TEST_CASE("an error is an answer, and so is a timeout") {
  const Room room;
  CHECK(!room.ask(kReview));
  BridgeResponse given = room.answer_to(room.request());
  for (const decltype(given.outcome)& outcome :
       {decltype(given.outcome)(contracts::BridgeError{.error_message = "no"}),
        decltype(given.outcome)(contracts::BridgeTimeout{.error_message = "too slow"})}) {
    given.outcome = outcome;
    room.answer(given);

    const auto answer = room.ask(kReview);

    REQUIRE(answer);
    CHECK(answer->outcome == outcome);
  }
}

TEST_CASE("another question of the phase takes its place, and the old answer is kept aside") {
  const Room room;
  CHECK(!room.ask(kReview));
  const auto first = room.request();
  room.answer(room.answer_to(first));
  BridgeQuestion other = kReview;
  other.prompt = "Is 2 + 2 = 4?";

  const auto answer = room.ask(other);

  CHECK(answer.error().exit_code == 42);
  CHECK(room.request().prompt == other.prompt);
  CHECK(room.request().request_id != first.request_id);
  CHECK(!fs::exists(room.file(".agent-response-phase1.json")));
  CHECK(room.in_quarantine() == 1);
}

TEST_CASE("whatever differs makes another question") {
  const std::vector<BridgeQuestion> others = {
      {.agent_name = "other", .prompt = kReview.prompt, .phase = 1},
      {.agent_name = "reviewer", .prompt = kReview.prompt, .phase = 1, .phase_name = "n"},
      {.agent_name = "reviewer", .prompt = kReview.prompt, .phase = 1, .timeout_seconds = 5},
      {.agent_name = "reviewer", .prompt = kReview.prompt, .phase = 1, .context = {{"a", 1}}},
      {.agent_name = "reviewer", .prompt = kReview.prompt, .phase = 1, .model = "m"}};
  for (const BridgeQuestion& other : others) {
    const Room room;
    CHECK(!room.ask(kReview));
    const auto first = room.request();

    CHECK(!room.ask(other));

    CHECK(room.request().request_id != first.request_id);
  }
}

TEST_CASE("phases do not share a file") {
  const Room room;
  BridgeQuestion second = kReview;
  second.phase = 2;
  CHECK(!room.ask(kReview));
  CHECK(!room.ask(second));
  room.answer(room.answer_to(room.request("-phase1")), "-phase1");

  CHECK(room.ask(kReview));
  CHECK(!room.ask(second));
}

TEST_CASE("what is no answer to the request counts as none, and nobody touches it") {
  const Room room;
  CHECK(!room.ask(kReview));
  const BridgeResponse given = room.answer_to(room.request());
  BridgeResponse foreign = given;
  foreign.request_id = "0b8de6c2-3d8f-4a43-8a5c-6a6e2ff1a001";
  BridgeResponse stale = given;
  stale.created_at = "2020-01-01T00:00:00Z";
  const std::string whole = encode(given);
  for (const std::string& text : {encode(foreign), encode(stale), whole.substr(0, whole.size() / 2),
                                  std::string(), std::string(R"({"result": "No."})")}) {
    room.write(".agent-response-phase1.json", text);

    const auto answer = room.ask(kReview);

    REQUIRE(!answer);
    CHECK(answer.error().exit_code == 42);
    CHECK(read_file(room.file(".agent-response-phase1.json"), 1 << 20) == text);
  }
}

TEST_CASE("a request that is torn or no request is replaced") {
  const Room room;
  for (const std::string_view text : {"", "{\"request_id\": \"", "[]"}) {
    room.write(".agent-request-phase1.json", text);

    CHECK(room.ask(kReview).error().exit_code == 42);

    CHECK(room.request().prompt == kReview.prompt);
  }
}

TEST_CASE("a directory that was moved is asked in anew: its answer would go elsewhere") {
  const Room room;
  const std::string before = room.file("before");
  const std::string after = room.file("after");
  fs::create_directory(before);
  CHECK(!invoke(kReview, before));
  const auto first = *read_exchange(before, "-phase1").request.document;
  fs::rename(before, after);

  CHECK(!invoke(kReview, after));

  const auto second = *read_exchange(after, "-phase1").request.document;
  CHECK(second.request_id != first.request_id);
  CHECK(fs::path(*second.response_file).parent_path() == fs::canonical(after));
}

TEST_CASE("a context that JSON cannot hold does not make a new question every time") {
  const Room room;
  BridgeQuestion odd = kReview;
  odd.context = {{"nan", std::nan("")}, {"large", UINT64_MAX}, {"small", std::uint64_t{7}}};
  CHECK(!room.ask(odd));
  const auto first = room.request();

  CHECK(!room.ask(odd));

  CHECK(room.request().request_id == first.request_id);
}

TEST_CASE("BRQ: a question that no driver would take is not asked") {
  const Room room;
  for (const BridgeQuestion& question :
       {BridgeQuestion{.agent_name = " ", .prompt = "x"},
        BridgeQuestion{.agent_name = "a", .prompt = ""},
        BridgeQuestion{.agent_name = "a", .prompt = "x", .timeout_seconds = 0},
        BridgeQuestion{.agent_name = "a", .prompt = "\xFF"},
        BridgeQuestion{.agent_name = "a", .prompt = "x", .phase = -1},
        BridgeQuestion{.agent_name = "a", .prompt = "x", .phase = 1'000'000'000}}) {
    const auto answer = room.ask(question);

    REQUIRE(!answer);
    CHECK(answer.error().exit_code == 1);
    CHECK(answer.error().message.starts_with("no agent can be asked: "));
    CHECK(fs::is_empty(room.path()));
  }
}

TEST_CASE("what cannot be written is told, and is not 42") {
  const Room room;
  fs::create_directory(room.file(".agent-request-phase1.json"));

  const auto in_the_way = room.ask(kReview);
  const auto nowhere = invoke(kReview, room.file("nowhere"));

  CHECK(in_the_way.error().exit_code == 1);
  CHECK(in_the_way.error().message.contains("is not a regular file"));
  CHECK(nowhere.error().exit_code == 1);
  CHECK(nowhere.error().message.contains("nowhere"));
}

TEST_CASE("a quarantine that cannot be had does not keep a program from asking") {
  const Room room;
  CHECK(!room.ask(kReview));
  room.answer(room.answer_to(room.request()));
  room.write(".treaty-bridge", "in the way");
  BridgeQuestion other = kReview;
  other.prompt = "Another?";

  const auto answer = room.ask(other);

  CHECK(answer.error().exit_code == 42);
  CHECK(room.ask(other).error().exit_code == 42);
}
