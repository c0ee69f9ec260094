#include "treaty/bridge/quarantine.h"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <set>

#include "treaty/base/files.h"
#include "treaty/base/timestamp.h"
#include "treaty/bridge/names.h"
#include "treaty/testing/temporary_directory.h"

using namespace treaty;
using namespace treaty::bridge;

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kPlenty = std::size_t{1} << 20U;

class Room {
 public:
  const std::string& path() const { return directory_.path(); }
  std::string file(std::string_view name) const { return path_in(path(), name); }
  std::string write(std::string_view name, std::string_view text) const {
    REQUIRE(replace_file(file(name), text));
    return file(name);
  }

 private:
  testing::TemporaryDirectory directory_{};
};

}  // namespace

TEST_CASE("a file that is moved to the quarantine is there under a name that tells why") {
  const Room room;
  const std::string path = room.write(".agent-response.json", "old");

  const auto kept = move_to_quarantine(room.path(), path, "stale");

  REQUIRE(kept);
  CHECK(!fs::exists(path));
  CHECK(read_file(*kept, kPlenty) == "old");
  CHECK(fs::path(*kept).parent_path() == quarantine_path(room.path()));
  CHECK(kept->contains("-stale-"));
  CHECK(kept->ends_with(".agent-response.json"));
  CHECK(!suffix_of_response(fs::path(*kept).filename().string()));
}

TEST_CASE("a file that is copied to the quarantine stays where it is") {
  const Room room;
  const std::string path = room.write("answer.json", "old");

  const auto kept = copy_to_quarantine(room.path(), path, "repaired");

  REQUIRE(kept);
  CHECK(read_file(path, kPlenty) == "old");
  CHECK(read_file(*kept, kPlenty) == "old");
}

TEST_CASE("nothing in the quarantine is ever overwritten") {
  const Room room;
  std::set<std::string> kept;
  for (int time = 0; time < 100; ++time) {
    const std::string path = room.write("answer.json", std::to_string(time));
    kept.insert(move_to_quarantine(room.path(), path, "stale").value_or("?"));
  }

  CHECK(kept.size() == 100);
  std::set<std::string> texts;
  for (const std::string& path : kept) texts.insert(read_file(path, kPlenty).value_or("?"));
  CHECK(texts.size() == 100);
}

TEST_CASE("a link is moved, not what it stands for") {
  const Room room;
  const std::string target = room.write("target", "mine");
  fs::create_symlink(target, room.file(".agent-response.json"));

  const auto kept = move_to_quarantine(room.path(), room.file(".agent-response.json"), "broken");

  REQUIRE(kept);
  CHECK(fs::is_symlink(*kept));
  CHECK(read_file(target, kPlenty) == "mine");
}

TEST_CASE("a file on another file system is kept, too") {
  if (!fs::is_directory("/dev/shm")) return;
  const Room room;
  const testing::TemporaryDirectory elsewhere("/dev/shm");
  const std::string path = elsewhere.path() + "/answer.json";
  REQUIRE(replace_file(path, "far"));

  const auto kept = move_to_quarantine(room.path(), path, "stale");

  REQUIRE(kept);
  CHECK(!fs::exists(path));
  CHECK(read_file(*kept, kPlenty) == "far");
}

TEST_CASE("what is not there cannot be kept, and what stands in the way is told") {
  const Room room;
  CHECK(!move_to_quarantine(room.path(), room.file("absent"), "stale"));
  CHECK(!copy_to_quarantine(room.path(), room.file("absent"), "stale"));

  const Room blocked;
  blocked.write(kFolder, "a file");
  const std::string path = blocked.write("answer.json", "x");
  const auto kept = move_to_quarantine(blocked.path(), path, "stale");
  REQUIRE(!kept);
  CHECK(kept.error().code == ErrorCode::unwritable);
  CHECK(read_file(path, kPlenty) == "x");
}

TEST_CASE("the folders are made once and may be there already") {
  const Room room;

  CHECK(make_folders(room.path()));
  CHECK(make_folders(room.path()));

  CHECK(fs::is_directory(quarantine_path(room.path())));
}

TEST_CASE("a file with the longest name that there can be is kept, too") {
  const Room room;
  const std::string path = room.file(std::string(250, 'n') + ".json");
  fs::rename(room.write("short", "x"), path);

  const auto kept = move_to_quarantine(room.path(), path, "stale");

  REQUIRE(kept);
  CHECK(read_file(*kept, kPlenty) == "x");
  CHECK(kept->ends_with("n.json"));
}

TEST_CASE("a file that is too large to be copied is not kept in part") {
  if (!fs::is_directory("/dev/shm")) return;
  const Room room;
  const testing::TemporaryDirectory elsewhere("/dev/shm");
  const std::string path = elsewhere.path() + "/answer.json";
  REQUIRE(replace_file(path, "x"));
  fs::resize_file(path, (std::uintmax_t{64} << 20U) + 1);

  const auto copied = copy_to_quarantine(room.path(), path, "stale");
  const auto moved = move_to_quarantine(room.path(), path, "stale");

  CHECK(!copied);
  CHECK(!moved);
  CHECK(fs::exists(path));
  CHECK(fs::is_empty(quarantine_path(room.path())));
}

TEST_CASE("a link in the place of a folder of treaty's own is not followed") {
  const testing::TemporaryDirectory elsewhere;
  const Room room;
  fs::create_directory(elsewhere.path() + "/quarantine");
  fs::create_symlink(elsewhere.path(), room.file(kFolder));
  CHECK(make_folders(room.path()).error().message.contains("is a symbolic link; remove it"));

  fs::remove(room.file(kFolder));
  fs::create_directory(room.file(kFolder));
  fs::create_symlink(elsewhere.path(), quarantine_path(room.path()));
  CHECK(make_folders(room.path()).error().where == quarantine_path(room.path()));
}

TEST_CASE("old files leave the quarantine, and the oldest ones when there is too much") {
  const Room room;
  REQUIRE(make_folders(room.path()));
  const std::string place = quarantine_path(room.path());
  const auto keep = [&](const std::string& name) {
    REQUIRE(replace_file(path_in(place, name), "0123456789"));
    return path_in(place, name);
  };
  const std::string old = keep("20260401T000000.000-stale-0b8de6c2.agent-response.json");
  const std::string middle = keep("20260520T000000.000-stale-0b8de6c3.agent-response.json");
  const std::string young = keep("20260531T120000.000-stale-0b8de6c4.agent-response.json");
  const std::string other = keep("notes.txt");
  const double now = seconds_of_timestamp("2026-06-01T00:00:00Z").value_or(0);

  prune_quarantine(room.path(), now);
  CHECK(!fs::exists(old));
  CHECK(fs::exists(middle));

  prune_quarantine(room.path(), now, {.most_bytes = 5});
  CHECK(!fs::exists(middle));
  CHECK(fs::exists(young));  // It was put there half a day ago.
  CHECK(fs::exists(other));
}

TEST_CASE("what is put there now is as old as its name says, however old the file is") {
  const Room room;
  const std::string path = room.write(".agent-response.json", "old");
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(24 * 365));
  const auto kept = move_to_quarantine(room.path(), path, "stale");
  REQUIRE(kept);

  prune_quarantine(room.path(), seconds_of_timestamp(timestamp_now()).value_or(0));

  CHECK(fs::exists(*kept));
}
