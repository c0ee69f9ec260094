#include "treaty/bridge/directory_watch.h"

#include <doctest/doctest.h>
#include <poll.h>

#include <filesystem>
#include <fstream>

#include "treaty/base/files.h"
#include "treaty/testing/temporary_directory.h"

namespace treaty::bridge {
namespace {

namespace fs = std::filesystem;
using Files = std::vector<FileNews>;

void write(const fs::path& path, std::string_view text) { std::ofstream(path) << text; }

bool is_readable(const DirectoryWatch& watch) {
  pollfd waiting{watch.descriptor(), POLLIN, 0};
  return poll(&waiting, 1, 0) == 1;
}

struct Room {
  testing::TemporaryDirectory folder{};
  std::string one = folder.path() + "/one";
  std::string other = folder.path() + "/other";
  DirectoryWatch watch;

  explicit Room(Wanted wanted = Wanted::requests) : watch(*DirectoryWatch::open(wanted)) {
    fs::create_directory(one);
    fs::create_directory(other);
    CHECK(watch.add(one));
    CHECK(watch.add(other));
  }
};

}  // namespace

TEST_CASE("a request that is written, renamed or linked into a directory is news of it") {
  Room room;

  SUBCASE("nothing happens") { CHECK(!is_readable(room.watch)); }
  SUBCASE("written in place") {
    write(room.one + "/.agent-request.json", "{}");

    CHECK(is_readable(room.watch));
    CHECK(room.watch.read().files == Files{{room.one, ".agent-request.json"}});
  }
  SUBCASE("replaced as a whole") {
    CHECK(replace_file(room.other + "/.agent-request-phase3.json", "{}"));

    CHECK(room.watch.read().files == Files{{room.other, ".agent-request-phase3.json"}});
  }
  SUBCASE("linked") {
    write(room.folder.path() + "/ready", "{}");
    fs::create_hard_link(room.folder.path() + "/ready", room.one + "/.agent-request.json");

    CHECK(room.watch.read().files == Files{{room.one, ".agent-request.json"}});
  }
  CHECK(!is_readable(room.watch));
  CHECK(room.watch.read().files.empty());
}

TEST_CASE("each file is told once, with the last that was heard of it") {
  Room room;
  for (const char* text : {"{", "{}", "{ }"}) write(room.one + "/.agent-request.json", text);
  write(room.other + "/.agent-request.json", "{}");
  fs::remove(room.one + "/.agent-request.json");

  CHECK(room.watch.read().files ==
        Files{{room.one, ".agent-request.json", false}, {room.other, ".agent-request.json", true}});
}

TEST_CASE("only the names that are wanted are told") {
  const auto told = [](Wanted wanted) {
    Room room(wanted);
    for (const char* name : {"notes.txt", ".agent-request.json", ".agent-response.json",
                             ".agent-request-phaseX.json", ".agent-request.json.treaty-a1b2c3"}) {
      write(room.one + "/" + name, "{}");
    }
    std::vector<std::string> names;
    for (const FileNews& news : room.watch.read().files) names.push_back(news.name);
    return names;
  };
  using Names = std::vector<std::string>;

  CHECK(told(Wanted::requests) == Names{".agent-request.json"});
  CHECK(told(Wanted::responses) == Names{".agent-response.json"});
}

TEST_CASE("a directory that is removed or moved is told once, and then no more of it") {
  Room room;

  std::ofstream lock;
  SUBCASE("removed") { fs::remove_all(room.one); }
  SUBCASE("removed while something below it is open") {
    fs::create_directory(room.one + "/below");
    lock.open(room.one + "/below/lock");
    fs::remove_all(room.one);
  }
  SUBCASE("moved") {
    fs::rename(room.one, room.folder.path() + "/elsewhere");
    write(room.folder.path() + "/elsewhere/.agent-request.json", "{}");
  }
  const DirectoryNews news = room.watch.read();
  CHECK(news.gone == std::vector{room.one});
  CHECK(news.files.empty());

  write(room.other + "/.agent-request.json", "{}");
  CHECK(room.watch.read().files == Files{{room.other, ".agent-request.json"}});
  CHECK(room.watch.read().gone.empty());
}

TEST_CASE("a directory in another one is told apart from it") {
  Room room;
  const std::string inner = room.one + "/inner";
  fs::create_directory(inner);
  CHECK(room.watch.add(inner));
  write(inner + "/.agent-request.json", "{}");
  write(room.one + "/.agent-request.json", "{}");

  CHECK(room.watch.read().files ==
        Files{{inner, ".agent-request.json"}, {room.one, ".agent-request.json"}});
  fs::remove_all(inner);
  CHECK(room.watch.read().gone == std::vector{inner});
  fs::remove_all(room.one);
  CHECK(room.watch.read().gone == std::vector{room.one});
}

TEST_CASE("of a directory that was taken off nothing more is told") {
  Room room;
  room.watch.remove(room.one);
  room.watch.remove("nowhere");
  write(room.one + "/.agent-request.json", "{}");

  const DirectoryNews news = room.watch.read();
  CHECK(news.files.empty());
  CHECK(news.gone.empty());
}

TEST_CASE("what is no directory cannot be watched") {
  auto watch = *DirectoryWatch::open(Wanted::requests);
  const testing::TemporaryDirectory folder;
  write(folder.path() + "/file", "");

  const auto missing = watch.add(folder.path() + "/missing");
  REQUIRE(!missing);
  CHECK(missing.error().code == ErrorCode::unreadable);
  CHECK(missing.error().where.ends_with("/missing"));
  CHECK(!watch.add(folder.path() + "/file"));
}

TEST_CASE("more than the system keeps is told as that") {
  Room room;
  std::ifstream limits("/proc/sys/fs/inotify/max_queued_events");
  std::size_t most = 0;
  limits >> most;
  REQUIRE(most > 0);
  if (most > 100'000) return;  // It would take too long here.

  write(room.one + "/a", "");
  for (std::size_t moves = 0; moves <= most / 4; ++moves) {  // Each of them is two.
    fs::rename(room.one + "/a", room.one + "/b");
    fs::rename(room.one + "/b", room.one + "/a");
  }
  const DirectoryNews news = room.watch.read();
  CHECK(news.is_incomplete);
  CHECK(news.files.empty());
  CHECK(!room.watch.read().is_incomplete);
}

}  // namespace treaty::bridge
