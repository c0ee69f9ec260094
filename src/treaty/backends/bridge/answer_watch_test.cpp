#include "treaty/backends/bridge/answer_watch.h"

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
  Waiter waiter{context.get_executor()};
  std::shared_ptr<AnswerWatch> watch = *AnswerWatch::open(context.get_executor(), directory.path());

  std::string file(std::string_view name) const { return bridge::path_in(directory.path(), name); }

  // The system has told it by the time the change is made.
  bool notifies() {
    waiter.take();
    context.restart();
    context.poll();
    return waiter.take();
  }
};

TEST_CASE("A waiter is notified of its file however it gets there, and of no other") {
  Room room;
  room.watch->subscribe(kName, room.waiter);

  CHECK(!room.notifies());
  REQUIRE(replace_file(room.file(kName), "renamed"));
  CHECK(room.notifies());
  std::ofstream(room.file(kName)) << "written in its place";
  CHECK(room.notifies());
  fs::remove(room.file(kName));
  room.notifies();
  std::ofstream(room.file("beside")) << "linked";
  CHECK(!room.notifies());
  fs::create_hard_link(room.file("beside"), room.file(kName));
  CHECK(room.notifies());
  REQUIRE(replace_file(room.file(".agent-response.json"), "another's"));
  CHECK(!room.notifies());
}

TEST_CASE("A waiter that has unsubscribed is not notified") {
  Room room;
  room.watch->subscribe(kName, room.waiter);
  room.watch->unsubscribe(kName);

  REQUIRE(replace_file(room.file(kName), "x"));

  CHECK(!room.notifies());
}

TEST_CASE("All waiters are notified when the directory is gone") {
  Room room;
  room.watch->subscribe(kName, room.waiter);
  CHECK(room.watch->is_alive());

  fs::remove_all(room.directory.path());

  CHECK(room.notifies());
  CHECK(!room.watch->is_alive());
}

TEST_CASE("A directory that is not there cannot be watched") {
  Room room;

  const auto watch = AnswerWatch::open(room.context.get_executor(), room.file("nowhere"));

  REQUIRE(!watch);
  CHECK(watch.error().where == room.file("nowhere"));
}

TEST_CASE("The watch may go while it listens") {
  Room room;
  room.watch.reset();

  room.context.poll();

  CHECK(room.context.stopped());
}

}  // namespace
}  // namespace treaty::backends
