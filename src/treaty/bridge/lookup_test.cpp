#include "treaty/bridge/lookup.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "treaty/testing/temporary_directory.h"

using namespace treaty::bridge;

namespace {

namespace fs = std::filesystem;

using Places = std::vector<std::string>;

// A home with a project in it.
struct Home {
  Home() : root(fs::canonical(folder.path())) { fs::create_directories(root / "project/src/deep"); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name) << text;
  }

  void ask(const std::string& name, const std::string& id = "r-1") const {
    write(name, R"({"request_id": ")" + id + R"(", "version": "1.0", "agent_name": "a",
                    "prompt": "p", "created_at": "2026-03-01T08:30:00Z"})");
  }

  StartingPoint from(const std::string& name) const {
    const fs::path here = name.empty() ? root : root / name;
    return {.here = here.string(), .home = root.string()};
  }

  std::string path(const std::string& name) const { return (root / name).string(); }

  treaty::testing::TemporaryDirectory folder;
  fs::path root;
};

}  // namespace

TEST_CASE("Requests are looked for in the state directories, then above, up to the home") {
  const Home home;
  fs::create_directories(home.root / ".agentecflow/state");
  fs::create_directories(home.root / "flow/state");
  StartingPoint start = home.from("project/src/deep");

  CHECK(places_of_requests(start) == Places{home.path(".agentecflow/state"),
                                            home.path("project/src"), home.path("project"),
                                            home.root.string()});
  start.agentecflow_home = home.path("flow");
  CHECK(places_of_requests(start).front() == home.path("flow/state"));
  CHECK(places_of_requests(home.from("")) == Places{home.path(".agentecflow/state")});
}

TEST_CASE("Nothing is looked for above the directory that has a .git") {
  const Home home;
  fs::create_directories(home.root / "project/.git");

  CHECK(places_of_requests(home.from("project/src")) == Places{home.path("project")});
  CHECK(places_of_requests(home.from("project")).empty());
}

TEST_CASE("A request that waits is found before one that is answered") {
  const Home home;
  home.write("project/.agent-request.json", "{}");
  home.ask(".agent-request-phase2.json");

  const auto found = find_request(home.from("project/src"));

  REQUIRE(found);
  CHECK(found->waits);
  CHECK(found->directory == home.root.string());
  CHECK(find_request(home.from("project/src/deep"))->directory == home.root.string());
  fs::remove(home.root / ".agent-request-phase2.json");
  CHECK(find_request(home.from("project/src"))->directory == home.path("project"));
  CHECK_FALSE(find_request(home.from("project")));
}

TEST_CASE("A link and a file of another user are no request") {
  const Home home;
  home.ask("elsewhere.json");
  fs::create_symlink(home.root / "elsewhere.json", home.root / ".agent-request.json");
  CHECK(unsettled_exchanges(home.root.string()).empty());

  fs::remove(home.root / ".agent-request.json");
  home.ask(".agent-request.json");
  CHECK(unsettled_exchanges(home.root.string()).size() == 1);
  constexpr uid_t kNobody = 65534;
  if (chown(home.path(".agent-request.json").c_str(), kNobody, kNobody) == 0) {  // As root.
    CHECK(unsettled_exchanges(home.root.string()).empty());
  }
}

TEST_CASE("A request that was answered and taken is not found") {
  const Home home;
  home.ask("project/.agent-request.json");
  home.write("project/.treaty-bridge/journal.ndjson",
             R"({"at":"2026-03-01T09:00:00Z","event":"answer.written","request_id":"r-1"})"
             "\n");
  CHECK(find_request(home.from("project/src"))->directory == home.path("project"));

  home.write("project/.treaty-bridge/journal.ndjson",
             R"({"at":"2026-03-01T09:00:00Z","event":"answer.written","request_id":"r-1"})"
             "\n"
             R"({"at":"2026-03-01T09:00:01Z","event":"program.started"})"
             "\n");
  CHECK_FALSE(find_request(home.from("project/src")));
}

TEST_CASE("A request is new where its file was not there or was another one") {
  const RequestFiles before = {{"/a/.agent-request.json", {.inode = 1, .size = 2}},
                               {"/b/.agent-request.json", {.inode = 3, .size = 4}}};
  CHECK_FALSE(place_of_new_request(before, before));
  CHECK_FALSE(place_of_new_request(before, {}));
  RequestFiles after = before;
  after["/b/.agent-request.json"].changed_at = 5;
  CHECK(place_of_new_request(before, after) == "/b");
  CHECK(place_of_new_request({}, before) == "/a");
}

TEST_CASE("A journal is found in the same places") {
  const Home home;
  CHECK_FALSE(find_journal(home.from("project/src")));
  home.write(".treaty-bridge/journal.ndjson", "");

  CHECK(find_journal(home.from("project/src")) == home.root.string());
}
