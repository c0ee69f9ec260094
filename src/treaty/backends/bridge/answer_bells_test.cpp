#include "treaty/backends/bridge/answer_bells.h"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>

#include "treaty/base/files.h"
#include "treaty/bridge/names.h"
#include "treaty/testing/temporary_directory.h"

namespace treaty::backends {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

constexpr const char* kName = ".agent-response-phase1.json";

struct Room {
  testing::TemporaryDirectory directory{};
  asio::io_context context{};
  Bell bell{asio::steady_timer(context)};
  std::shared_ptr<AnswerBells> bells = *AnswerBells::open(context.get_executor(), directory.path());

  std::string file(std::string_view name) const { return bridge::path_in(directory.path(), name); }

  // The system has told it by the time the change is made.
  bool rings() {
    bell.has_rung = false;
    context.restart();
    context.poll();
    return bell.has_rung;
  }
};

TEST_CASE("A bell rings for its file however it gets there, and for no other") {
  Room room;
  room.bells->hang(kName, room.bell);

  CHECK(!room.rings());
  REQUIRE(replace_file(room.file(kName), "renamed"));
  CHECK(room.rings());
  std::ofstream(room.file(kName)) << "written in its place";
  CHECK(room.rings());
  fs::remove(room.file(kName));
  room.rings();
  std::ofstream(room.file("beside")) << "linked";
  CHECK(!room.rings());
  fs::create_hard_link(room.file("beside"), room.file(kName));
  CHECK(room.rings());
  REQUIRE(replace_file(room.file(".agent-response.json"), "another's"));
  CHECK(!room.rings());
}

TEST_CASE("A bell that was taken off does not ring") {
  Room room;
  room.bells->hang(kName, room.bell);
  room.bells->take_off(kName);

  REQUIRE(replace_file(room.file(kName), "x"));

  CHECK(!room.rings());
}

TEST_CASE("All bells ring when the directory is gone") {
  Room room;
  room.bells->hang(kName, room.bell);
  CHECK(room.bells->is_alive());

  fs::remove_all(room.directory.path());

  CHECK(room.rings());
  CHECK(!room.bells->is_alive());
}

TEST_CASE("A directory that is not there has no bells") {
  Room room;

  const auto bells = AnswerBells::open(room.context.get_executor(), room.file("nowhere"));

  REQUIRE(!bells);
  CHECK(bells.error().where == room.file("nowhere"));
}

TEST_CASE("Bells may go while somebody listens to them") {
  Room room;
  room.bells.reset();

  room.context.poll();

  CHECK(room.context.stopped());
}

}  // namespace
}  // namespace treaty::backends
