#include "treaty/bridge/driver.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include "treaty/base/files.h"
#include "treaty/base/timestamp.h"
#include "treaty/bridge/names.h"
#include "treaty/bridge/questions.h"
#include "treaty/testing/temporary_directory.h"

using namespace treaty;
using namespace treaty::bridge;
using contracts::BridgeRequest;
using contracts::BridgeResponse;
using contracts::BridgeSuccess;

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kPlenty = std::size_t{1} << 20U;
constexpr const char* kId = "0b8de6c2-3d8f-4a43-8a5c-6a6e2ff1a001";
constexpr const char* kOtherId = "5e2f8c1a-9b3d-4f6e-8a7b-1c2d3e4f5a6b";

BridgeRequest request(std::optional<std::string> response_file = std::nullopt) {
  return {.request_id = kId,
          .version = "1.0",
          .agent_name = "reviewer",
          .prompt = "Is 2 + 2 = 5?",
          .created_at = "2026-03-01T08:30:00Z",
          .phase = 1,
          .response_file = std::move(response_file)};
}

BridgeResponse response(std::string text = "No.") {
  return {.request_id = kId,
          .outcome = BridgeSuccess{std::move(text)},
          .created_at = "2026-03-01T08:30:05Z",
          .duration_seconds = 1.5};
}

class Room {
 public:
  explicit Room(Reach reach = Reach::anywhere)
      : path_(fs::canonical(directory_.path()).string()),
        driver_(Driver::open(path_, "run", reach)) {
    REQUIRE(driver_);
  }

  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return path_in(path_, name); }
  Driver& driver() { return *driver_; }

  std::string write(std::string_view name, std::string_view text) const {
    REQUIRE(replace_file(file(name), text));
    return file(name);
  }
  std::string text(std::string_view name) const {
    return read_file(file(name), kPlenty).value_or("?");
  }
  Exchange ask(const BridgeRequest& asked = request()) const {
    write(".agent-request.json", encode(asked));
    return read_exchange(path_, "");
  }
  std::vector<Entry> journal() const {
    const auto read = read_journal(journal_path(path_));
    REQUIRE(read);
    CHECK(read->damaged_lines == 0);
    return read->entries;
  }
  std::vector<std::string> events() const {
    std::vector<std::string> events;
    for (const Entry& entry : journal()) events.push_back(entry.event);
    return events;
  }
  std::vector<std::string> quarantine() const {
    std::vector<std::string> texts;
    for (const auto& entry : fs::directory_iterator(quarantine_path(path_))) {
      texts.push_back(read_file(entry.path().string(), kPlenty).value_or("unreadable"));
    }
    std::ranges::sort(texts);
    return texts;
  }

 private:
  testing::TemporaryDirectory directory_{};
  std::string path_;
  std::expected<Driver, Error> driver_;
};

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a directory is named absolutely and without links") {
  const testing::TemporaryDirectory directory;
  const std::string path = fs::canonical(directory.path()).string();
  fs::create_directory(path + "/real");
  fs::create_symlink("real", path + "/link");

  CHECK(resolve_directory(path + "/link/.") == path + "/real");
  CHECK(resolve_directory(path + "/absent").error().code == ErrorCode::unreadable);
  REQUIRE(replace_file(path + "/file", "x"));
  CHECK(resolve_directory(path + "/file").error().message == "is not a directory");
}

TEST_CASE("a directory has one driver at a time") {
  Room room;

  const auto second = Driver::open(room.path(), "watch");

  REQUIRE(!second);
  CHECK(second.error().code == ErrorCode::conflict);
  CHECK(second.error().message.contains("treaty bridge run"));
}

TEST_CASE("a driver finds what was journalled before it came") {
  const testing::TemporaryDirectory directory;
  {
    auto first = Driver::open(directory.path(), "run");
    REQUIRE(first);
    CHECK(first->history().empty());
    REQUIRE(first->note("run.started", {{"command", std::vector<std::string>{"./program"}}}));
  }

  const auto second = Driver::open(directory.path(), "run");

  REQUIRE(second);
  REQUIRE(second->history().size() == 1);
  CHECK(second->history().front().event == "run.started");
  CHECK(timestamp_form(second->history().front().at) == TimestampForm::rfc3339);
}

TEST_CASE("an answer is written to its place and journalled with who gave it") {
  Room room;
  const Exchange exchange = room.ask();
  BridgeResponse given = response();
  given.metadata = {{"agent", "reviewer"}, {"output_tokens", 3}, {"other", "not told"}};

  REQUIRE(room.driver().write_answer(exchange, given));

  CHECK(room.text(".agent-response.json") == encode(given));
  CHECK(read_exchange(room.path(), "").answer == AnswerState::answered);
  const Entry last = room.journal().back();
  CHECK(last.event == "answer.written");
  CHECK(last.details == json::ObjectText{{"request_id", kId},
                                         {"file", room.file(".agent-response.json")},
                                         {"status", "success"},
                                         {"phase_key", "1"},
                                         {"seconds", 1.5},
                                         {"agent", "reviewer"},
                                         {"output_tokens", 3},
                                         {"question", question_of(exchange).digest},
                                         {"request_created_at", "2026-03-01T08:30:00Z"},
                                         {"answer_created_at", "2026-03-01T08:30:05Z"}});
}

TEST_CASE("the journal tells of errors and timeouts, and why") {
  Room room;
  const Exchange exchange = room.ask();
  BridgeResponse given = response();
  given.outcome = contracts::BridgeError{.error_message = "no", .error_type = "rate_limit"};
  REQUIRE(room.driver().write_answer(exchange, given));
  CHECK(room.journal().back().details.find_text("status") == "error");
  CHECK(room.journal().back().details.find_text("error_type") == "rate_limit");
  CHECK(room.journal().back().details.find_text("error_message") == "no");

  given.outcome = contracts::BridgeTimeout{.error_message = "late"};
  REQUIRE(room.driver().write_answer(exchange, given, Existing::replace));
  CHECK(room.journal().back().details.find_text("status") == "timeout");
  CHECK(room.journal().back().details.find_text("error_message") == "late");
}

TEST_CASE("a request that was answered meanwhile keeps its answer") {
  Room room;
  const Exchange exchange = room.ask();
  room.write(".agent-response.json", encode(response("first")));

  const auto written = room.driver().write_answer(exchange, response("second"));

  CHECK(written.error().code == ErrorCode::conflict);
  CHECK(room.text(".agent-response.json") == encode(response("first")));
  CHECK(room.quarantine().empty());
}

TEST_CASE("an answer that comes too late does not push the answer of the next request aside") {
  Room room;
  const Exchange first = room.ask();
  BridgeRequest next = request();
  next.request_id = kOtherId;
  room.ask(next);
  BridgeResponse answer = response("to the next");
  answer.request_id = kOtherId;
  room.write(".agent-response.json", encode(answer));

  const auto written = room.driver().write_answer(first, response("to the first"));

  CHECK(written.error().code == ErrorCode::conflict);
  CHECK(room.text(".agent-response.json") == encode(answer));
  CHECK(room.events().empty());
}

TEST_CASE("an answer whose request was taken away is written all the same") {
  Room room;
  const Exchange exchange = room.ask();
  fs::remove(room.file(".agent-request.json"));

  CHECK(room.driver().write_answer(exchange, response()));
}

TEST_CASE("an answer that is to be replaced is kept in the quarantine") {
  Room room;
  const Exchange exchange = room.ask();
  room.write(".agent-response.json", encode(response("first")));

  REQUIRE(room.driver().write_answer(exchange, response("second"), Existing::replace));

  CHECK(room.text(".agent-response.json") == encode(response("second")));
  CHECK(room.quarantine() == Texts{encode(response("first"))});
  CHECK(room.events() == Texts{"file.quarantined", "answer.written"});
}

TEST_CASE("what is no answer to this request makes room for the answer and is kept") {
  BridgeResponse foreign = response();
  foreign.request_id = kOtherId;
  BridgeResponse stale = response();
  stale.created_at = "2026-02-28T08:30:00Z";
  for (const std::string& text : {encode(foreign), encode(stale), std::string(),
                                  std::string("{\"request"), std::string("It is not.")}) {
    CAPTURE(text);
    Room room;
    const Exchange exchange = room.ask();
    room.write(".agent-response.json", text);

    REQUIRE(room.driver().write_answer(exchange, response()));

    CHECK(room.text(".agent-response.json") == encode(response()));
    CHECK(room.quarantine() == Texts{text});
    CHECK(read_exchange(room.path(), "").answer == AnswerState::answered);
  }
}

TEST_CASE("a file that never was an answer is not moved away for one") {
  Room room;
  room.write("notes.txt", "mine");
  const Exchange exchange = room.ask(request("notes.txt"));

  const auto written = room.driver().write_answer(exchange, response());

  REQUIRE(!written);
  CHECK(written.error().code == ErrorCode::conflict);
  CHECK(room.text("notes.txt") == "mine");
  CHECK(room.events().empty());
}

TEST_CASE("whether there is a place for an answer is known before anybody is asked for one") {
  Room room(Reach::inside);
  room.write("notes.txt", "mine");
  room.write("empty.json", "");

  CHECK(room.driver().may_answer(room.ask()));
  CHECK(room.driver().may_answer(room.ask(request("empty.json"))));
  CHECK(room.driver().may_answer(room.ask(request("new.json"))));
  for (const std::string place : {"notes.txt", "../outside.json"}) {
    const auto may = room.driver().may_answer(room.ask(request(place)));
    REQUIRE(!may);
    CHECK(may.error().code == ErrorCode::conflict);
  }
  CHECK(room.events().empty());
}

TEST_CASE("an empty file, and a file with an answer, give way in any place") {
  for (const std::string& text : {std::string(), encode(response("old")),
                                  std::string(R"({"request_id": "x", "result": "y"})")}) {
    CAPTURE(text);
    Room room;
    const Exchange exchange = room.ask(request("answer.json"));
    room.write("answer.json", text);

    REQUIRE(room.driver().write_answer(exchange, response(), Existing::replace));

    CHECK(room.text("answer.json") == encode(response()));
    CHECK(room.quarantine() == Texts{text});
  }
}

TEST_CASE("a directory or a pipe that response_file names stays where it is") {
  Room room;
  fs::create_directory(room.file("src"));
  room.write("src/main.cpp", "int main() {}");
  REQUIRE(mkfifo(room.file("pipe").c_str(), 0600) == 0);

  for (const std::string name : {"src", "pipe"}) {
    const auto written = room.driver().write_answer(room.ask(request(name)), response());

    REQUIRE(!written);
    CHECK(written.error().code == ErrorCode::conflict);
  }
  CHECK(room.text("src/main.cpp") == "int main() {}");
  CHECK(fs::is_fifo(room.file("pipe")));
  CHECK(room.quarantine().empty());
}

TEST_CASE("a link in the answer's place is replaced, and what it stands for stays") {
  Room room;
  room.write("secret", "mine");
  fs::create_symlink("secret", room.file(".agent-response.json"));
  const Exchange exchange = room.ask();

  REQUIRE(room.driver().write_answer(exchange, response()));

  CHECK(room.text("secret") == "mine");
  CHECK(!fs::is_symlink(room.file(".agent-response.json")));
  CHECK(room.text(".agent-response.json") == encode(response()));
}

TEST_CASE("an answer that cannot be written is an error, and nothing is journalled of it") {
  Room room;
  const Exchange exchange = room.ask(request("nowhere/answer.json"));

  const auto written = room.driver().write_answer(exchange, response());

  REQUIRE(!written);
  CHECK(written.error().code == ErrorCode::unwritable);
  CHECK(room.events().empty());
}

TEST_CASE("in directories of other people nothing is written outside of them") {
  const testing::TemporaryDirectory elsewhere;
  Room room(Reach::inside);
  fs::create_directory(room.file("sub"));
  fs::create_symlink(elsewhere.path(), room.file("out"));

  for (const std::string& place :
       {elsewhere.path() + "/answer.json", std::string("../answer.json"),
        std::string("out/answer.json"), std::string("sub/../../answer.json"),
        room.path() + "-beside/answer.json"}) {
    CAPTURE(place);
    const auto written = room.driver().write_answer(room.ask(request(place)), response());
    CHECK(written.error().code == ErrorCode::conflict);
  }
  CHECK(fs::is_empty(elsewhere.path()));
  CHECK(room.driver().write_answer(room.ask(request("sub/answer.json")), response()));
  CHECK(room.driver().write_answer(room.ask(request()), response()));
}

TEST_CASE("a journal that cannot be read keeps a driver from answering") {
  const testing::TemporaryDirectory directory;
  fs::create_directories(journal_path(directory.path()));

  CHECK(!Driver::open(directory.path(), "run"));
  CHECK(look_at_lock(lock_path(directory.path())).state == LockState::free);
}

TEST_CASE("several threads may answer, each another request") {
  Room room;
  constexpr int kThreads = 8;
  std::atomic<int> answered = 0;
  {
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (int number = 0; number < kThreads; ++number) {
      threads.emplace_back([&room, &answered, number] {
        const std::string suffix = suffix_of_phase(number);
        BridgeRequest asked = request();
        asked.phase = number;
        const bool is_asked =
            replace_file(room.file(request_name(suffix)), encode(asked)).has_value();
        const auto written =
            room.driver().write_answer(read_exchange(room.path(), suffix), response());
        answered += is_asked && written ? 1 : 0;
      });
    }
  }

  CHECK(answered == kThreads);
  CHECK(room.events() == Texts(kThreads, "answer.written"));
  const auto exchanges = read_exchanges(room.path());
  REQUIRE(exchanges);
  CHECK(exchanges->size() == kThreads);
  CHECK(std::ranges::all_of(
      *exchanges, [](const Exchange& one) { return one.answer == AnswerState::answered; }));
}

TEST_CASE("what killed writers left behind is cleared away, and nothing else") {
  const testing::TemporaryDirectory directory;
  const std::string& path = directory.path();
  const Texts gone = {".agent-response.json.treaty-a1B2c3",
                      ".agent-response-phase2.json.treaty-xxxxxx"};
  const Texts stay = {".agent-request.json.treaty-a1B2c3", "answer.json.treaty-a1B2c3",
                      ".agent-response.json", ".agent-response.json.treaty-backup-of-mine",
                      ".agent-response.json.treaty-"};
  for (const auto& names : {gone, stay}) {
    for (const std::string& name : names) REQUIRE(replace_file(path_in(path, name), "x"));
  }

  const auto driver = Driver::open(path, "run");

  REQUIRE(driver);
  for (const std::string& name : gone) CHECK(!fs::exists(path_in(path, name)));
  for (const std::string& name : stay) CHECK(fs::exists(path_in(path, name)));
}

TEST_CASE("an answer is no older than its question, whatever clock the question came from") {
  Room room;
  BridgeRequest ahead = request();
  ahead.created_at = "2030-01-01T00:00:00+02:00";
  const Exchange exchange = room.ask(ahead);

  REQUIRE(room.driver().write_answer(exchange, response()));

  const Exchange written = read_exchange(room.path(), "");
  CHECK(written.answer == AnswerState::answered);
  CHECK(written.response.document->created_at == ahead.created_at);
}

TEST_CASE("opening a directory deletes old entries, but never an answer that is in its place") {
  testing::TemporaryDirectory directory;
  const std::string path = fs::canonical(directory.path()).string();
  {
    auto driver = Driver::open(path, "run");
    REQUIRE(driver);
    REQUIRE(replace_file(path_in(path, ".agent-request.json"), encode(request())));
    REQUIRE(driver->write_answer(read_exchange(path, ""), response()));
  }
  const auto written = read_journal(journal_path(path));
  REQUIRE(written);
  std::string text;
  for (Entry entry : written->entries) {
    entry.at = "2020-01-01T00:00:00Z";
    text +=
        encode(Entry{"2020-01-01T00:00:00Z", "file.quarantined", {}}) + "\n" + encode(entry) + "\n";
  }
  REQUIRE(replace_file(journal_path(path), text));
  const std::string kept =
      path_in(quarantine_path(path), "20200101T000000.000-stale-0b8de6c2.agent-response.json");
  REQUIRE(replace_file(kept, "{}"));

  const auto driver = Driver::open(path, "run");

  REQUIRE(driver);
  const auto left = read_journal(journal_path(path));
  REQUIRE(left);
  REQUIRE(left->entries.size() == 1);
  CHECK(left->entries.front().event == "answer.written");
  CHECK(!fs::exists(kept));
}

TEST_CASE("a new question under the same id is answered over the old answer, which is kept") {
  Room room;
  REQUIRE(room.driver().write_answer(room.ask(), response()));
  BridgeRequest next = request();
  next.prompt = "And 3 + 3?";
  next.created_at = "2026-03-01T08:30:05.5Z";  // Within the second that dates may differ by.
  const Exchange asked = room.ask(next);
  CHECK(asked.answer == AnswerState::answered);
  BridgeResponse second = response("6");
  second.created_at = "2026-03-01T08:30:06Z";

  REQUIRE(room.driver().write_answer(asked, second));

  CHECK(read_exchange(room.path(), "").response.document == second);
  CHECK(room.events() ==
        std::vector<std::string>{"answer.written", "file.quarantined", "answer.written"});
}
