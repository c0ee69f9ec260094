#include "treaty/bridge/diagnosis/view.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "treaty/base/files.h"
#include "treaty/bridge/names.h"
#include "treaty/testing/temporary_directory.h"

using namespace treaty;
using namespace treaty::bridge;

namespace fs = std::filesystem;

namespace {

constexpr const char* kAskedId = "6f1c2a34-9d0b-4e57-8a1f-2b7c5d90e3a6";

// A directory three levels down in one of its own, in which a request waits.
class Room {
 public:
  Room() {
    fs::create_directories(path());
    write(request_name(""), encode(contracts::BridgeRequest{.request_id = kAskedId,
                                                            .version = "1.0",
                                                            .agent_name = "a",
                                                            .prompt = "p",
                                                            .created_at = "2026-11-16T10:00:00Z"}));
  }

  std::string path() const { return path_in(directory_.path(), "a/b/c"); }

  void write(std::string_view name, std::string_view text) const {
    const std::string file = path_in(path(), name);
    fs::create_directories(fs::path(file).parent_path());
    REQUIRE(replace_file(file, text));
  }

  void answer(std::string_view name, const std::string& id = kAskedId) const {
    write(name, encode(contracts::BridgeResponse{.request_id = id,
                                                 .outcome = contracts::BridgeSuccess{"Fine."},
                                                 .created_at = "2026-11-16T10:00:30Z"}));
  }

  std::vector<std::string> strays() const {
    const auto exchanges = read_exchanges(path());
    REQUIRE(exchanges);
    std::vector<std::string> paths;
    for (const StrayAnswer& stray : find_stray_answers(path(), *exchanges)) {
      paths.push_back(fs::path(stray.path).lexically_relative(path()).string());
    }
    return paths;
  }

 private:
  testing::TemporaryDirectory directory_{};
};

using Paths = std::vector<std::string>;

TEST_CASE("Names that somebody may give to an answer are known") {
  for (const std::string_view name :
       {"agent-response.json", ".agent_response.json", ".agent-response.json.txt",
        "AgentResponse.json", "answer.json", "response", ".agent-response-phase1.json"}) {
    CHECK(is_like_an_answer(name));
  }
  for (const std::string_view name :
       {".agent-request.json", ".treaty-bridge", "package.json", "README.md", "state.json"}) {
    CHECK_FALSE(is_like_an_answer(name));
  }
}

TEST_CASE("An answer is told from a request by what it has") {
  CHECK(answered_id(R"({"request_id": "x", "status": "success"})") == "x");
  CHECK(answered_id(R"({"request_id": "x", "result": {}})") == "x");
  CHECK(answered_id(R"({"request_id": "x", "prompt": "p"})").empty());
  CHECK(answered_id(R"({"request_id": 5, "status": "success"})").empty());
  CHECK(answered_id("nonsense").empty());
  CHECK(answered_id("").empty());
}

TEST_CASE("The answer is found here under another name, above and below") {
  for (const std::string place : {"agent-response.json", "../.agent-response.json",
                                  "../../.agent-response.json", "out/.agent-response.json"}) {
    const Room room;
    room.answer(place);
    CHECK(room.strays() == Paths{place});
  }
}

TEST_CASE("Four levels up and two levels down nobody looks") {
  const Room room;
  room.answer("../../../../.agent-response.json", "another");
  room.answer("x/y/.agent-response.json");
  CHECK(room.strays().empty());
}

TEST_CASE("What answers another request, and what is kept in quarantine, is no stray") {
  const Room room;
  room.answer("answer.json", "0b8de6c2-51f7-4a3e-9c44-7d2f1e6ab905");
  room.answer(".treaty-bridge/quarantine/answer.json");
  room.answer(".treaty-bridge/.agent-response.json");
  CHECK(room.strays().empty());
}

TEST_CASE("Nothing is looked for where nothing waits") {
  const Room room;
  room.answer("answer.json");
  room.answer(".agent-response.json");
  CHECK(room.strays().empty());
}

TEST_CASE("Requests are found right above and right below, and no further") {
  const Room room;
  const std::string inbox = path_in(room.path(), "inbox");
  fs::create_directories(inbox);
  CHECK(find_stray_requests(inbox) == Paths{path_in(room.path(), request_name(""))});
  CHECK(find_stray_requests(fs::path(room.path()).parent_path().string()) ==
        Paths{path_in(room.path(), request_name(""))});
  fs::create_directories(path_in(inbox, "deeper"));
  CHECK(find_stray_requests(path_in(inbox, "deeper")).empty());
}

TEST_CASE("A directory that is a link is looked around where it really is") {
  const Room room;
  room.answer("../.agent-response.json");
  const testing::TemporaryDirectory elsewhere;
  const std::string link = path_in(elsewhere.path(), "link");
  fs::create_directory_symlink(room.path(), link);

  const auto exchanges = read_exchanges(link);
  REQUIRE(exchanges);
  CHECK(find_stray_answers(link, *exchanges).size() == 1);
}

}  // namespace
