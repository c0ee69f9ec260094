#include "treaty/base/files.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include "treaty/testing/temporary_directory.h"

using namespace treaty;

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kPlenty = std::size_t{1} << 20U;

class Room {
 public:
  std::string file(std::string_view name) const {
    return (fs::path(directory_.path()) / name).string();
  }
  const std::string& path() const { return directory_.path(); }

  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(path())) {
      all.push_back(entry.path().filename().string());
    }
    std::ranges::sort(all);
    return all;
  }

 private:
  testing::TemporaryDirectory directory_{};
};

unsigned rights_of(const std::string& path) {
  struct stat status{};
  REQUIRE(stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777U;
}

}  // namespace

TEST_CASE("a file is read back as it was written, and nothing lies beside it") {
  const Room room;
  const std::string bytes = std::string("a\0b\r\n\xFF", 6) + std::string(200'000, 'x');

  REQUIRE(replace_file(room.file("one"), bytes));

  CHECK(read_file(room.file("one"), kPlenty) == bytes);
  CHECK(room.names() == std::vector<std::string>{"one"});
}

TEST_CASE("of a file that is too long, one byte more than allowed is read") {
  const Room room;
  REQUIRE(replace_file(room.file("one"), "12345"));

  CHECK(read_file(room.file("one"), 3) == "1234");
  CHECK(read_file(room.file("one"), 5) == "12345");
  CHECK(read_file(room.file("one"), 0) == "1");
}

TEST_CASE("what is no file is not read, and holds nobody up") {
  const Room room;
  REQUIRE(mkfifo(room.file("pipe").c_str(), 0600) == 0);
  fs::create_symlink("circle", room.file("circle"));

  const auto directory = read_file(room.path(), kPlenty);
  const auto pipe = read_file(room.file("pipe"), kPlenty);
  const auto absent = read_file(room.file("absent"), kPlenty);
  const auto circle = read_file(room.file("circle"), kPlenty);

  REQUIRE(!directory);
  REQUIRE(!pipe);
  REQUIRE(!absent);
  REQUIRE(!circle);
  CHECK(directory.error().code == ErrorCode::is_directory);
  CHECK(pipe.error().message == "is not a regular file");
  CHECK(absent.error().code == ErrorCode::not_found);
  CHECK(absent.error().where == room.file("absent"));
  CHECK(circle.error().code == ErrorCode::unreadable);
}

TEST_CASE("a file that replaces another one keeps its rights") {
  const Room room;
  REQUIRE(replace_file(room.file("one"), "secret"));
  fs::permissions(room.file("one"), fs::perms(0600));

  REQUIRE(replace_file(room.file("one"), "other"));

  CHECK(rights_of(room.file("one")) == 0600);
  CHECK(read_file(room.file("one"), kPlenty) == "other");
}

TEST_CASE("who may read a new file is for the user's mask to say") {
  const Room room;
  for (const mode_t mask : {mode_t{022}, mode_t{077}, mode_t{002}}) {
    const mode_t before = umask(mask);
    const auto written = replace_file(room.file(std::to_string(mask)), "x");
    umask(before);

    REQUIRE(written);
    CHECK(rights_of(room.file(std::to_string(mask))) == (0666U & ~mask));
  }
}

TEST_CASE("a file with the longest name that there can be is written, too") {
  const Room room;
  const std::string name(255, 'n');

  CHECK(replace_file(room.file(name), "x"));
  CHECK(!replace_file(room.file(name + "n"), "x"));

  CHECK(room.names() == std::vector<std::string>{name});
}

TEST_CASE("a link is followed or replaced, as the caller wants it") {
  const Room room;
  REQUIRE(replace_file(room.file("target"), "before"));
  fs::create_symlink("target", room.file("link"));

  REQUIRE(replace_file(room.file("link"), "through", Links::follow));
  CHECK(fs::is_symlink(room.file("link")));
  CHECK(read_file(room.file("target"), kPlenty) == "through");

  REQUIRE(replace_file(room.file("link"), "instead", Links::replace));
  CHECK(!fs::is_symlink(room.file("link")));
  CHECK(read_file(room.file("link"), kPlenty) == "instead");
  CHECK(read_file(room.file("target"), kPlenty) == "through");
}

TEST_CASE("what is no file is not replaced, and nothing is left of the try") {
  const Room room;
  fs::create_directory(room.file("folder"));
  REQUIRE(mkfifo(room.file("pipe").c_str(), 0600) == 0);

  for (const std::string_view name : {"folder", "pipe"}) {
    for (const Links links : {Links::follow, Links::replace}) {
      const auto written = replace_file(room.file(name), "x", links);

      REQUIRE(!written);
      CHECK(written.error().code == ErrorCode::unwritable);
      CHECK(written.error().where == room.file(name));
    }
  }
  CHECK(!replace_file(room.file("nowhere/one"), "x"));
  CHECK(room.names() == std::vector<std::string>{"folder", "pipe"});
}

TEST_CASE("whoever reads while a file is replaced finds one whole or the other") {
  const Room room;
  const std::string path = room.file("one");
  const std::string first(100'000, 'a');
  const std::string second(150'000, 'b');
  REQUIRE(replace_file(path, first));
  std::atomic<bool> done = false;
  std::jthread writer([&] {
    for (int time = 0; time < 50; ++time) {
      CHECK(replace_file(path, time % 2 == 0 ? second : first));
    }
    done = true;
  });

  bool always_whole = true;
  while (!done) {
    const auto bytes = read_file(path, kPlenty);
    always_whole = always_whole && bytes && (*bytes == first || *bytes == second);
  }

  CHECK(always_whole);
}

TEST_CASE("a directory can be flushed, and what is none cannot") {
  const Room room;
  REQUIRE(replace_file(room.file("one"), "x"));

  CHECK(flush_directory(room.path()));
  CHECK(flush_directory(room.file("absent")).error().code == ErrorCode::unwritable);
  CHECK(!flush_directory(room.file("one")));
}

TEST_CASE("what a killed writer leaves behind tells which file it was to replace") {
  CHECK(name_of_replaced("a.json.treaty-x1Y2z3") == "a.json");
  CHECK(name_of_replaced("a.treaty-b.treaty-x1Y2z3") == "a.treaty-b");
  for (const std::string_view name : {"", "a.json", ".treaty-x1Y2z3", "a.json.treaty-x1Y2z",
                                      "a.json.treaty-x1Y2z3a", "a.json.treaty-of-mine"}) {
    CAPTURE(name);
    CHECK(name_of_replaced(name).empty());
  }
}

TEST_CASE("a file is created where there is none, and never over another one") {
  const Room room;

  REQUIRE(create_file(room.file("a"), "one"));
  const auto again = create_file(room.file("a"), "two");

  REQUIRE(!again);
  CHECK(again.error().code == ErrorCode::conflict);
  CHECK(read_file(room.file("a"), kPlenty) == "one");
  CHECK(room.names() == std::vector<std::string>{"a"});
}

TEST_CASE("of several who create a file at once, one does") {
  const Room room;
  for (int round = 0; round < 20; ++round) {
    const std::string path = room.file(std::to_string(round));
    std::atomic<int> created = 0;
    {
      std::vector<std::jthread> writers;
      writers.reserve(4);
      for (int i = 0; i < 4; ++i) {
        writers.emplace_back([&] { created += create_file(path, "x") ? 1 : 0; });
      }
    }
    CHECK(created == 1);
  }
  CHECK(room.names().size() == 20);
}

TEST_CASE("what cannot be created leaves nothing behind") {
  const Room room;

  const auto nowhere = create_file(room.file("nowhere/a"), "one");

  REQUIRE(!nowhere);
  CHECK(nowhere.error().code == ErrorCode::unwritable);
  CHECK(room.names().empty());
}
