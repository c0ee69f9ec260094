#include "treaty/bridge/exchange.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <sys/stat.h>

#include <filesystem>

#include "treaty/base/files.h"
#include "treaty/bridge/names.h"
#include "treaty/testing/generators.h"
#include "treaty/testing/temporary_directory.h"

using namespace treaty;
using namespace treaty::bridge;
using contracts::BridgeRequest;
using contracts::BridgeResponse;
using contracts::BridgeSuccess;

namespace fs = std::filesystem;

namespace {

constexpr const char* kId = "0b8de6c2-3d8f-4a43-8a5c-6a6e2ff1a001";
constexpr const char* kOtherId = "5e2f8c1a-9b3d-4f6e-8a7b-1c2d3e4f5a6b";

BridgeRequest request(std::string created_at = "2026-03-01T08:30:00Z") {
  return {.request_id = kId,
          .version = "1.0",
          .agent_name = "reviewer",
          .prompt = "Is 2 + 2 = 5?",
          .created_at = std::move(created_at)};
}

BridgeResponse response(std::string created_at = "2026-03-01T08:30:05Z") {
  return {.request_id = kId,
          .outcome = BridgeSuccess{"No."},
          .created_at = std::move(created_at),
          .duration_seconds = 1.5};
}

class Room {
 public:
  const std::string& path() const { return directory_.path(); }
  std::string file(std::string_view name) const { return path_in(path(), name); }
  void write(std::string_view name, std::string_view text) const {
    REQUIRE(replace_file(file(name), text));
  }
  void ask(const BridgeRequest& asked = request(), const std::string& suffix = "") const {
    write(request_name(suffix), encode(asked));
  }
  void answer(const BridgeResponse& given = response(), const std::string& suffix = "") const {
    write(response_name(suffix), encode(given));
  }
  Exchange exchange(const std::string& suffix = "") const { return read_exchange(path(), suffix); }

 private:
  testing::TemporaryDirectory directory_{};
};

AnswerState judged(const BridgeRequest& asked, const BridgeResponse& given) {
  return judge({.state = FileState::whole, .document = asked},
               {.state = FileState::whole, .document = given});
}

std::vector<std::string> suffixes_in(const std::string& directory) {
  std::vector<std::string> suffixes;
  const auto exchanges = read_exchanges(directory);
  REQUIRE(exchanges);
  for (const Exchange& exchange : *exchanges) suffixes.push_back(exchange.suffix);
  return suffixes;
}

}  // namespace

TEST_CASE("an empty directory has no exchange, and no directory is an error") {
  const Room room;

  CHECK(suffixes_in(room.path()).empty());
  CHECK(read_exchanges(room.file("absent")).error().code == ErrorCode::unreadable);
  CHECK(room.exchange().request.state == FileState::absent);
  CHECK(!room.exchange().waits());
}

TEST_CASE("a request waits until its answer is there") {
  const Room room;
  room.ask();
  CHECK(room.exchange().waits());
  CHECK(room.exchange().answer == AnswerState::none);

  room.answer();

  const Exchange exchange = room.exchange();
  CHECK(exchange.answer == AnswerState::answered);
  CHECK(!exchange.waits());
  CHECK(exchange.response.document == response());
}

TEST_CASE("an error and a timeout are answers") {
  const Room room;
  room.ask();
  BridgeResponse given = response();
  given.outcome = contracts::BridgeError{.error_message = "no"};
  room.answer(given);
  CHECK(room.exchange().answer == AnswerState::answered);

  given.outcome = contracts::BridgeTimeout{.error_message = "late"};
  room.answer(given);
  CHECK(room.exchange().answer == AnswerState::answered);
}

TEST_CASE("BRS-12: an answer to another request is foreign, whatever else is wrong with it") {
  const Room room;
  room.ask();
  BridgeResponse other = response();
  other.request_id = kOtherId;
  room.answer(other);
  CHECK(room.exchange().answer == AnswerState::foreign);

  other.duration_seconds = -1;
  room.answer(other);
  CHECK(room.exchange().answer == AnswerState::foreign);
  CHECK(judged(request(), other) == AnswerState::foreign);
}

TEST_CASE("an answer without a request is nobody's") {
  const Room room;
  room.answer();

  const Exchange exchange = room.exchange();

  CHECK(exchange.request.state == FileState::absent);
  CHECK(exchange.answer == AnswerState::foreign);
  CHECK(suffixes_in(room.path()) == std::vector<std::string>{""});
}

TEST_CASE("yesterday's answer is stale; clocks may differ by a second") {
  const auto at = [](const char* time) { return judged(request(), response(time)); };

  CHECK(at("2026-02-28T08:30:00Z") == AnswerState::stale);
  CHECK(at("2026-03-01T08:29:58.9Z") == AnswerState::stale);
  CHECK(at("2026-03-01T08:29:59.1Z") == AnswerState::answered);
  CHECK(at("2026-03-01T08:30:00Z") == AnswerState::answered);
  CHECK(at("2027-03-01T08:30:00Z") == AnswerState::answered);
  CHECK(at("2026-03-01T10:30:00+02:00") == AnswerState::answered);
  CHECK(at("2026-03-01T10:29:00+02:00") == AnswerState::stale);
}

TEST_CASE("an answer counts only with the request's id and not before its time") {
  CHECK(rc::check([] {
    const BridgeRequest asked = *testing::any_bridge_request();
    BridgeResponse given = *testing::any_bridge_response();
    if (*rc::gen::arbitrary<bool>()) given.request_id = asked.request_id;
    if (*rc::gen::arbitrary<bool>()) given.created_at = asked.created_at;

    const AnswerState state = judged(asked, given);

    if (given.request_id != asked.request_id) {
      RC_ASSERT(state == AnswerState::foreign);
    } else if (given.created_at == asked.created_at) {
      RC_ASSERT(state == AnswerState::answered);
    } else {
      RC_ASSERT(state == AnswerState::answered || state == AnswerState::stale);
    }
  }));
}

TEST_CASE("no beginning of a file is taken for a whole one, or for a broken one") {
  const Room room;
  BridgeRequest odd = request();
  odd.prompt = "é \"quoted\" \\ \n😀 [{";
  odd.context = *json::ObjectText::parse(R"({"list": [1, -2.5, true, null], "": {}})");
  const std::string asked = encode(odd);
  for (std::size_t size = 0; size < asked.rfind('}'); ++size) {
    room.write(request_name(""), asked.substr(0, size));
    CAPTURE(asked.substr(0, size));
    CHECK(room.exchange().request.state == FileState::torn);
    CHECK(!room.exchange().is_asked());
  }
  room.ask();
  const std::string given = encode(response());
  for (std::size_t size = 0; size < given.rfind('}'); ++size) {
    room.write(response_name(""), given.substr(0, size));
    CAPTURE(given.substr(0, size));
    CHECK(room.exchange().answer == AnswerState::torn);
  }
}

TEST_CASE("whatever an answer says, no beginning of it is an answer") {
  const Room room;
  room.ask();
  CHECK(rc::check([&] {
    const std::string whole = encode(*testing::any_bridge_response());
    const auto size = *rc::gen::inRange<std::size_t>(0, whole.rfind('}'));
    room.write(response_name(""), whole.substr(0, size));

    RC_ASSERT(room.exchange().answer == AnswerState::torn);
  }));
}

TEST_CASE("a text that begins like no document is not torn, it is none") {
  const Room room;
  room.ask();
  for (const std::string_view text :
       {"Done", "42", "Yes.", "```json\n[", "```x``` is it", "[1", "\"No"}) {
    CAPTURE(text);
    room.write(response_name(""), text);

    CHECK(room.exchange().answer == AnswerState::broken);
  }
}

TEST_CASE("an answer in a fence is torn until the fence is closed") {
  const Room room;
  room.ask();
  for (const std::string_view text : {"```", "```json\n", "```json\n{", "~~~\n{}", "```\n{}\n``"}) {
    CAPTURE(text);
    room.write(response_name(""), text);

    CHECK(room.exchange().answer == AnswerState::torn);
  }
  room.write(response_name(""), "```\n{}\n```");
  CHECK(room.exchange().answer == AnswerState::broken);
}

TEST_CASE("a byte order mark hides neither that a file is torn nor that it is broken") {
  const Room room;
  const std::string asked = "\xEF\xBB\xBF" + encode(request());

  room.write(request_name(""), asked);
  CHECK(room.exchange().request.state == FileState::broken);
  room.write(request_name(""), asked.substr(0, 40));
  CHECK(room.exchange().request.state == FileState::torn);
  room.write(request_name(""), asked.substr(0, 3));
  CHECK(room.exchange().request.state == FileState::torn);
}

TEST_CASE("a file beyond what JSON-03 allows is broken, not torn: nobody waits for its end") {
  const Room room;
  room.write(request_name(""), "{\"prompt\": \"" + std::string(std::size_t{17} << 20U, 'x'));

  const Exchange exchange = room.exchange();

  CHECK(exchange.request.state == FileState::broken);
  CHECK(exchange.request.problem.starts_with("JSON-03"));
}

TEST_CASE("zeros where the end should be are what a crash leaves: torn") {
  const Room room;
  const std::string asked = encode(request());

  room.write(request_name(""), asked.substr(0, asked.size() / 2) + std::string(100, '\0'));

  CHECK(room.exchange().request.state == FileState::torn);
}

TEST_CASE("what breaks its contract is broken, and says with which rule") {
  const Room room;
  room.ask();
  for (const std::string_view text :
       {R"({"result": "No."})", R"(["No."])", "\"No.\"", R"({"request_id": ""})"}) {
    CAPTURE(text);
    room.write(response_name(""), text);

    const Exchange exchange = room.exchange();

    CHECK((exchange.answer == AnswerState::broken || exchange.answer == AnswerState::foreign));
    CHECK(exchange.response.problem.contains("-"));
    CHECK(!exchange.response.document);
  }
}

TEST_CASE("CRLF does not keep a request from being read") {
  const Room room;
  std::string text = encode(request());
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) {
    text.replace(at, 1, "\r\n");
  }

  room.write(request_name(""), text);

  CHECK(room.exchange().is_asked());
}

TEST_CASE("a directory or a pipe in a file's place is unreadable and holds nobody up") {
  const Room room;
  room.ask();
  fs::create_directory(room.file(response_name("")));
  CHECK(room.exchange().answer == AnswerState::unreadable);
  CHECK(room.exchange().waits());

  fs::remove(room.file(request_name("")));
  REQUIRE(mkfifo(room.file(request_name("")).c_str(), 0600) == 0);
  CHECK(room.exchange().request.state == FileState::unreadable);
  CHECK(!room.exchange().request.problem.empty());
}

TEST_CASE("a link that leads nowhere is an absent file") {
  const Room room;
  fs::create_symlink("nowhere", room.file(request_name("")));

  CHECK(room.exchange().request.state == FileState::absent);
}

TEST_CASE("each writing of a file has a version of its own") {
  const Room room;
  room.ask();
  const FileVersion first = room.exchange().request.version;
  CHECK(room.exchange().request.version == first);

  room.ask();

  CHECK(room.exchange().request.version != first);
}

TEST_CASE("phases do not see each other's answers") {
  const Room room;
  room.ask(request(), "-phase1");
  BridgeRequest second = request();
  second.request_id = kOtherId;
  room.ask(second, "-phase2");
  room.answer(response(), "-phase1");

  CHECK(room.exchange("-phase1").answer == AnswerState::answered);
  CHECK(room.exchange("-phase2").answer == AnswerState::none);
  CHECK(room.exchange("").request.state == FileState::absent);
}

TEST_CASE("exchanges come with the plain one first and then by their numbers") {
  const Room room;
  for (const std::string suffix : {"-phase10", "-phase2", "", "-phase02"}) {
    room.ask(request(), suffix);
  }
  room.answer(response(), "-phase7");
  room.write("other.json", "{}");

  CHECK(suffixes_in(room.path()) ==
        std::vector<std::string>{"", "-phase02", "-phase2", "-phase7", "-phase10"});
}

TEST_CASE("the answer belongs where response_file says, seen from the request's directory") {
  BridgeRequest asked = request();
  CHECK(response_path("/work", "-phase2", asked) == "/work/.agent-response-phase2.json");
  asked.response_file = "answers/one.json";
  CHECK(response_path("/work", "-phase2", asked) == "/work/answers/one.json");
  asked.response_file = "/other/one.json";
  CHECK(response_path("/work", "", asked) == "/other/one.json");
}

TEST_CASE("a response_file that is no place for an answer makes the request broken") {
  const Room room;
  for (const std::string& place :
       {std::string(""), std::string(" "), std::string("/"), std::string("sub/"), std::string("."),
        std::string("sub/.."), std::string("a\0b", 3), std::string(".agent-request.json"),
        std::string("/x/.agent-request-phase4.json"), std::string(".treaty-bridge/journal.ndjson"),
        std::string("/x/.treaty-bridge/lock")}) {
    CAPTURE(place);
    BridgeRequest asked = request();
    asked.response_file = place;
    CHECK(!response_path("/work", "", asked));

    room.ask(asked);

    const Exchange exchange = room.exchange();
    CHECK(exchange.request.state == FileState::broken);
    CHECK(!exchange.request.problem.empty());
    CHECK(!exchange.waits());
  }
}

TEST_CASE("an answer is looked for where the program looks, also behind links and ways up") {
  const Room room;
  const testing::TemporaryDirectory elsewhere;
  fs::create_directory(elsewhere.path() + "/deep");
  fs::create_symlink(elsewhere.path() + "/deep", room.file("link"));
  BridgeRequest asked = request();
  asked.response_file = room.file("link") + "/../answer.json";
  room.ask(asked);

  REQUIRE(replace_file(elsewhere.path() + "/answer.json", encode(response())));

  CHECK(read_file(*asked.response_file, 1 << 20) == encode(response()));
  CHECK(room.exchange().answer == AnswerState::answered);
}

TEST_CASE("an answer in the place that response_file names is found") {
  const Room room;
  const testing::TemporaryDirectory elsewhere;
  BridgeRequest asked = request();
  asked.response_file = elsewhere.path() + "/answer.json";
  room.ask(asked);
  CHECK(room.exchange().waits());

  REQUIRE(replace_file(*asked.response_file, encode(response())));

  CHECK(room.exchange().answer == AnswerState::answered);
  CHECK(room.exchange().response.path == *asked.response_file);
}

TEST_CASE("every state has a name") {
  CHECK(name_of(FileState::absent) == "absent");
  CHECK(name_of(FileState::whole) == "whole");
  CHECK(name_of(AnswerState::none) == "none");
  CHECK(name_of(AnswerState::answered) == "answered");
}
