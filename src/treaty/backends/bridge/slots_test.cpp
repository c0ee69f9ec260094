#include "treaty/backends/bridge/slots.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <thread>

#include "treaty/backends/bridge/question.h"
#include "treaty/base/files.h"
#include "treaty/base/timestamp.h"
#include "treaty/bridge/exchange.h"
#include "treaty/bridge/names.h"
#include "treaty/testing/calls.h"
#include "treaty/testing/temporary_directory.h"

using namespace treaty;
using namespace treaty::backends;
using contracts::BridgeRequest;
using contracts::BridgeResponse;

namespace fs = std::filesystem;

namespace {

constexpr double kFar = 4e9;

BridgeRequest question(const std::string& text = "Is it?") {
  return bridge_request_of({.model = "m", .messages = {UserMessage{{TextPart{text}}}}}, "reviewer",
                           60);
}

class Room {
 public:
  std::string path() const { return fs::canonical(directory_.path()).string(); }
  std::string file(std::string_view name) const { return bridge::path_in(path(), name); }
  bool has(std::string_view name) const { return fs::exists(file(name)); }
  void write(std::string_view name, std::string_view text) const {
    REQUIRE(replace_file(file(name), text));
  }

  BridgePlace ask(BridgeSlots& slots, const BridgeRequest& request = question()) const {
    auto place = slots.ask(request, kFar);
    REQUIRE(place);
    return *place;
  }

  BridgeRequest request(const std::string& suffix) const {
    auto file_read = bridge::read_request(file(bridge::request_name(suffix)));
    REQUIRE(file_read.document);
    return *file_read.document;
  }

  void answer(const BridgePlace& place, std::string_view text = "It is.") const {
    write(bridge::response_name(place.suffix),
          encode(BridgeResponse{.request_id = place.request_id,
                                .outcome = contracts::BridgeSuccess{std::string(text)},
                                .created_at = timestamp_now()}));
  }

  // As a server would have left it that is not there any more.
  void orphan(const std::string& suffix, double until = kFar) const {
    BridgeRequest left = request(suffix);
    const pid_t child = fork();
    if (child == 0) _exit(0);
    const auto process = bridge::find_process(child);
    waitpid(child, nullptr, 0);
    REQUIRE(process);
    Asker asker = this_asker(until);
    asker.process = *process;
    set_asker(left, asker);
    write(bridge::request_name(suffix), encode(left));
  }

  std::size_t in_quarantine() const {
    std::error_code ignored;
    const auto kept = fs::directory_iterator(bridge::quarantine_path(path()), ignored);
    return static_cast<std::size_t>(std::distance(begin(kept), end(kept)));
  }

 private:
  testing::TemporaryDirectory directory_{};
};

}  // namespace

TEST_CASE("The first question has the plain name, the next ones those of phases") {
  const Room room;
  BridgeSlots slots(room.path());

  CHECK(room.ask(slots).suffix.empty());
  CHECK(room.ask(slots).suffix == "-phase1");
  CHECK(room.ask(slots).suffix == "-phase2");

  CHECK(room.request("-phase1").response_file == room.file(".agent-response-phase1.json"));
}

TEST_CASE("A place that was answered or taken back is free again") {
  const Room room;
  BridgeSlots slots(room.path());
  const BridgePlace first = room.ask(slots);
  const BridgePlace second = room.ask(slots);
  room.answer(first);

  const auto result = BridgeSlots::collect(first);
  BridgeSlots::withdraw(second);

  REQUIRE(result);
  CHECK(result->content == "It is.");
  CHECK(!room.has(".agent-request.json"));
  CHECK(!room.has(".agent-response.json"));
  CHECK(!room.has(".agent-request-phase1.json"));
  CHECK(room.ask(slots).suffix.empty());
}

TEST_CASE("Many who ask at once in one directory have a place each") {
  const Room room;
  std::vector<std::vector<BridgePlace>> places(4);
  {
    std::vector<std::jthread> askers;
    askers.reserve(places.size());
    for (auto& own : places) {
      askers.emplace_back([&] {
        BridgeSlots slots(room.path());
        for (int i = 0; i < 5; ++i) {
          if (auto place = slots.ask(question(), kFar)) own.push_back(*place);
        }
      });
    }
  }

  std::set<std::string> suffixes;
  for (const auto& own : places) {
    CHECK(own.size() == 5);
    for (const BridgePlace& place : own) {
      suffixes.insert(place.suffix);
      CHECK(room.request(place.suffix).request_id == place.request_id);
    }
  }
  CHECK(suffixes.size() == 20);
}

TEST_CASE("A place that a program asks in is left alone") {
  const Room room;
  room.write(".agent-request.json", "{\"request_id\": ");
  BridgeSlots slots(room.path());

  CHECK(room.ask(slots).suffix == "-phase1");
  CHECK(read_file(room.file(".agent-request.json"), 100) == "{\"request_id\": ");
}

TEST_CASE("An answer that came too late is kept aside when its place is taken again") {
  const Room room;
  BridgeSlots slots(room.path());
  const BridgePlace first = room.ask(slots);
  BridgeSlots::withdraw(first);
  room.answer(first, "Too late.");

  const BridgePlace second = room.ask(slots);

  CHECK(second.suffix.empty());
  CHECK(!room.has(".agent-response.json"));
  CHECK(room.in_quarantine() == 1);
}

TEST_CASE("An answer is waited for while there is none, half of one, or one to somebody else") {
  const Room room;
  BridgeSlots slots(room.path());
  const BridgePlace place = room.ask(slots);
  CHECK(!BridgeSlots::collect(place));
  for (const std::string_view text : {"", "{\"request_id\": \"", "{"}) {
    room.write(".agent-response.json", text);
    CHECK(!BridgeSlots::collect(place));
  }
  room.answer({.suffix = "", .request_id = "0b8de6c2-51f7-4a3e-9c44-7d2f1e6ab905"});
  CHECK(!BridgeSlots::collect(place));
  CHECK(room.has(".agent-request.json"));

  room.answer(place);

  CHECK(BridgeSlots::collect(place)->content == "It is.");
}

TEST_CASE("An answer that breaks its contract is an error that names the rule, and is kept") {
  const Room room;
  BridgeSlots slots(room.path());
  const BridgePlace place = room.ask(slots);
  room.write(".agent-response.json", R"({"result": "It is."})");

  const auto result = BridgeSlots::collect(place);

  REQUIRE(result);
  CHECK(result->error->code == "server_error");
  CHECK(result->error->message.contains("breaks its contract: BRS-14"));
  CHECK(result->error->retryable == true);
  CHECK(!room.has(".agent-request.json"));
  CHECK(!room.has(".agent-response.json"));
  CHECK(room.in_quarantine() == 1);
}

TEST_CASE("An answer that is older than its question is an error") {
  const Room room;
  BridgeSlots slots(room.path());
  const BridgePlace place = room.ask(slots);
  room.write(".agent-response.json", encode(BridgeResponse{.request_id = place.request_id,
                                                           .outcome = contracts::BridgeSuccess{"x"},
                                                           .created_at = "2020-01-01T00:00:00Z"}));

  CHECK(BridgeSlots::collect(place)->error->message.contains("older than the question"));
}

TEST_CASE("Whoever answers may take the request away first") {
  const Room room;
  BridgeSlots slots(room.path());
  const BridgePlace place = room.ask(slots);
  fs::remove(room.file(".agent-request.json"));
  CHECK(!BridgeSlots::collect(place));
  room.answer(place);

  CHECK(BridgeSlots::collect(place)->content == "It is.");
}

TEST_CASE("A request that somebody else has put in the place is not taken away") {
  const Room room;
  BridgeSlots slots(room.path());
  const BridgePlace place = room.ask(slots);
  const BridgeRequest other = question("Another?");
  room.write(".agent-request.json", encode(other));
  room.write(".agent-response.json", R"({"result": "It is."})");

  CHECK(!BridgeSlots::collect(place));
  BridgeSlots::withdraw(place);

  CHECK(room.request("") == other);
  CHECK(room.has(".agent-response.json"));
}

TEST_CASE("The question of a server that is gone is taken over by who asks the same") {
  const Room room;
  BridgeSlots before(room.path());
  const BridgePlace first = room.ask(before, question("One?"));
  const BridgePlace second = room.ask(before, question("Two?"));
  room.orphan(first.suffix);
  room.orphan(second.suffix);
  room.answer(second, "Two.");
  BridgeSlots after(room.path());

  const BridgePlace again = room.ask(after, question("Two?"));

  CHECK(again.suffix == second.suffix);
  CHECK(again.request_id == second.request_id);
  CHECK(BridgeSlots::collect(again)->content == "Two.");
  CHECK(room.request(first.suffix).request_id == first.request_id);
}

TEST_CASE("A question is taken over once") {
  const Room room;
  BridgeSlots before(room.path());
  const BridgePlace first = room.ask(before);
  room.orphan(first.suffix);
  BridgeSlots one(room.path());
  BridgeSlots other(room.path());
  room.ask(other, question("Something else?"));  // Both have seen it.

  CHECK(room.ask(one).request_id == first.request_id);
  CHECK(room.ask(other).request_id != first.request_id);
}

TEST_CASE("The question of a server that lives is not taken over") {
  const Room room;
  BridgeSlots before(room.path());
  const BridgePlace first = room.ask(before);
  BridgeSlots after(room.path());

  CHECK(room.ask(after).request_id != first.request_id);
  CHECK(room.request(first.suffix).request_id == first.request_id);
}

TEST_CASE("A server of another machine cannot be looked for, so it is taken to live") {
  const Room room;
  BridgeSlots before(room.path());
  const BridgePlace first = room.ask(before);
  BridgeRequest left = room.request(first.suffix);
  Asker asker = this_asker(kFar);
  asker.host = "elsewhere";
  asker.process.started = "1";
  set_asker(left, asker);
  room.write(".agent-request.json", encode(left));
  BridgeSlots after(room.path());

  CHECK(room.ask(after).request_id != first.request_id);
}

TEST_CASE("What a server that is gone would not wait for any more is kept aside") {
  const Room room;
  BridgeSlots before(room.path());
  const BridgePlace first = room.ask(before, question("One?"));
  room.answer(first);
  room.orphan(first.suffix, 1);
  BridgeSlots after(room.path());

  CHECK(room.ask(after, question("Two?")).suffix.empty());
  CHECK(room.in_quarantine() == 2);
}

TEST_CASE("A directory that is not there, or cannot hold a request, is an error") {
  const Room room;
  BridgeSlots nowhere(room.file("nowhere"));
  room.write("file", "");
  BridgeSlots a_file(room.file("file"));
  const Room other;
  other.write(".treaty-bridge", "in the way");
  BridgeSlots blocked(other.path());

  CHECK(!nowhere.ask(question(), kFar));
  CHECK(!a_file.ask(question(), kFar));
  CHECK(!blocked.ask(question(), kFar));
}

TEST_CASE("What a killed writer left behind goes when it is old") {
  const Room room;
  room.write(".agent-request.json.treaty-abcdef", "{");
  room.write(".agent-request-phase1.json.treaty-abcdef", "{");
  fs::last_write_time(room.file(".agent-request.json.treaty-abcdef"),
                      fs::file_time_type::clock::now() - std::chrono::hours(1));
  BridgeSlots slots(room.path());

  room.ask(slots);

  CHECK(!room.has(".agent-request.json.treaty-abcdef"));
  CHECK(room.has(".agent-request-phase1.json.treaty-abcdef"));
}
