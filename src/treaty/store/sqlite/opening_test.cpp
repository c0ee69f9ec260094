#include "treaty/store/sqlite/opening.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "treaty/testing/stores/store_room.h"

namespace treaty::store {
namespace {

using testing::complete;
using testing::kRoom;
using testing::open_store;
using testing::wait_for;

std::int64_t newest() { return static_cast<std::int64_t>(sqlite::migrations().size()); }

struct OpeningFixture {
  testing::TemporaryDirectory directory;
  std::string path = directory.path() + "/treaty.db";

  ErrorCode code_of(Purpose purpose) const {
    const auto opened = open_sqlite_store(path, {.purpose = purpose});
    REQUIRE(!opened);
    CHECK(opened.error().where == path);
    CHECK(opened.error().message.find(directory.path()) == std::string::npos);
    return opened.error().code;
  }
  void execute(const char* sql) const {
    auto database = sqlite::Database::open(path, sqlite::Access::create);
    REQUIRE(database);
    database->execute(sql);
    const auto failure = database->take_failure();
    CHECK_MESSAGE(!failure, (failure ? failure->message : ""));
  }
  // As the program wrote it that knew no other, with one session.
  void make_first_version() const {
    execute("PRAGMA journal_mode = WAL");
    execute(sqlite::migrations()[0]);
    execute(
        ("PRAGMA user_version = 1; PRAGMA application_id = " + std::to_string(sqlite::kApplication))
            .c_str());
    execute(
        "INSERT INTO sessions VALUES (1, 'local', 's1', 'a', 'c', '', NULL, 1, 1, 0, 0, 0, -1)");
  }
  std::int64_t version() const {
    return sqlite::Database::open(path, sqlite::Access::read)->value_of("PRAGMA user_version");
  }
  void write(const std::string& text) const { std::ofstream(path, std::ios::binary) << text; }
};

unsigned permissions_of(const std::string& path) {
  struct stat status{};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 0777U;
}

// What a process without rights of its own sees: root may write everywhere.
int as_nobody(const auto& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(99);
    ::_exit(body() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool is_unavailable(const std::string& path) {
  const auto opened = open_sqlite_store(path);
  return !opened && opened.error().code == ErrorCode::unavailable;
}

}  // namespace

TEST_CASE_FIXTURE(OpeningFixture, "directory and files are accessible to their owner only") {
  path = directory.path() + "/state/treaty/treaty.db";

  const auto store = open_store(path);

  REQUIRE(store);
  CHECK(complete(*store, kRoom, "t1") != 0);
  CHECK(permissions_of(directory.path() + "/state") == 0700);
  CHECK(permissions_of(directory.path() + "/state/treaty") == 0700);
  CHECK(permissions_of(path) == 0600);
  CHECK(permissions_of(path + "-wal") == 0600);
  CHECK(permissions_of(path + "-shm") == 0600);
  CHECK(permissions_of(path + "-owners") == 0600);
}

TEST_CASE_FIXTURE(OpeningFixture, "a store that is read or maintained is not made") {
  CHECK(code_of(Purpose::read) == ErrorCode::unavailable);
  CHECK(code_of(Purpose::maintain) == ErrorCode::unavailable);
  CHECK(::access(path.c_str(), F_OK) != 0);
}

TEST_CASE_FIXTURE(OpeningFixture, "an empty file becomes a store, but only for turns") {
  write("");

  CHECK(code_of(Purpose::read) == ErrorCode::unavailable);
  CHECK(open_store(path) != nullptr);
  CHECK(open_store(path, {.purpose = Purpose::read}) != nullptr);
}

TEST_CASE_FIXTURE(OpeningFixture, "a store can be read while another process runs turns in it") {
  const auto server = open_store(path);
  REQUIRE(complete(*server, kRoom, "t1") != 0);

  const auto reader = open_store(path, {.purpose = Purpose::read});

  REQUIRE(reader);
  CHECK(wait_for(reader->find_turn(kRoom, "t1")).value());
  const auto refused = wait_for(reader->delete_session(kRoom));
  REQUIRE(!refused);
  CHECK(refused.error().code == ErrorCode::unavailable);
  REQUIRE(complete(*server, kRoom, "t2") != 0);
  CHECK(wait_for(reader->find_turn(kRoom, "t2")).value());
}

TEST_CASE_FIXTURE(OpeningFixture, "a store that is maintained runs no turns") {
  REQUIRE(complete(*open_store(path), kRoom, "t1") != 0);

  const auto store = open_store(path, {.purpose = Purpose::maintain});

  REQUIRE(store);
  CHECK(!testing::begin(*store, kRoom, "t2"));
  CHECK(!wait_for(store->claim_abandoned({}, {})));
  CHECK(wait_for(store->delete_session(kRoom)).value());
}

TEST_CASE_FIXTURE(OpeningFixture, "maintenance distinguishes processes that live from others") {
  auto server = open_store(path);
  REQUIRE(testing::begin(*server, kRoom, "t1"));
  const auto store = open_store(path, {.purpose = Purpose::maintain});
  REQUIRE(store);

  CHECK(!wait_for(store->delete_session(kRoom)));
  server.reset();
  CHECK(wait_for(store->delete_session(kRoom)).value());
}

TEST_CASE_FIXTURE(OpeningFixture, "a file that is no database is refused and stays as it is") {
  const std::string text(5'000, 'x');
  write(text);

  CHECK(code_of(Purpose::run) == ErrorCode::corrupt);
  CHECK(code_of(Purpose::read) == ErrorCode::corrupt);

  std::ifstream file(path, std::ios::binary);
  CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == text);
}

TEST_CASE_FIXTURE(OpeningFixture, "the database of another program is refused and stays as it is") {
  execute("CREATE TABLE theirs (x); PRAGMA user_version = 3");

  CHECK(code_of(Purpose::run) == ErrorCode::corrupt);
  CHECK(code_of(Purpose::maintain) == ErrorCode::corrupt);

  auto database = sqlite::Database::open(path, sqlite::Access::read);
  CHECK(database->value_of("SELECT count(*) FROM sqlite_schema") == 1);
  CHECK(database->value_of("PRAGMA user_version") == 3);
}

TEST_CASE_FIXTURE(OpeningFixture, "a store of a later version is refused and stays as it is") {
  REQUIRE(complete(*open_store(path), kRoom, "t1") != 0);
  execute("PRAGMA user_version = 99");

  CHECK(code_of(Purpose::run) == ErrorCode::too_new);
  CHECK(code_of(Purpose::read) == ErrorCode::too_new);

  execute(("PRAGMA user_version = " + std::to_string(sqlite::migrations().size())).c_str());
  CHECK(wait_for(open_store(path)->find_turn(kRoom, "t1")).value());
}

TEST_CASE_FIXTURE(OpeningFixture, "a store without one of its tables is damaged") {
  REQUIRE(open_store(path) != nullptr);
  for (const char* table : {"answers", "shares", "machine_journal"}) {
    execute(("ALTER TABLE " + std::string(table) + " RENAME TO gone").c_str());

    CHECK(code_of(Purpose::run) == ErrorCode::corrupt);
    CHECK(code_of(Purpose::read) == ErrorCode::corrupt);
    execute(("ALTER TABLE gone RENAME TO " + std::string(table)).c_str());
  }
}

TEST_CASE_FIXTURE(OpeningFixture, "damage is found after a process that did not say goodbye") {
  {
    const auto store = open_store(path);
    for (int i = 0; i < 50; ++i) REQUIRE(complete(*store, kRoom, std::to_string(i)) != 0);
  }
  execute("INSERT INTO owners VALUES (1000)");
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(0, std::ios::end);
    const auto end = static_cast<long>(file.tellp());
    file.seekp(end - 3 * 4096);
    file << std::string(2 * 4096, '\xff');
  }

  CHECK(code_of(Purpose::run) == ErrorCode::corrupt);
}

TEST_CASE_FIXTURE(OpeningFixture, "every migration starts from the version before it") {
  auto database = sqlite::Database::open(path, sqlite::Access::create);
  REQUIRE(database);

  CHECK(sqlite::check_version(*database, path).value() == 0);
  REQUIRE(sqlite::migrate(*database, path));
  CHECK(sqlite::check_version(*database, path).value() == newest());
  REQUIRE(sqlite::migrate(*database, path));

  CHECK(database->value_of("PRAGMA application_id") == sqlite::kApplication);
}

TEST_CASE_FIXTURE(OpeningFixture, "a store of the first version is read as it is") {
  make_first_version();

  const auto store = open_store(path, {.purpose = Purpose::read});

  REQUIRE(store);
  CHECK(wait_for(store->list_sessions({})).value().size() == 1);
  CHECK(wait_for(store->find_session(kRoom)).value()->turns == 0);
  CHECK(wait_for(store->spending(1)).value().empty());
  CHECK(wait_for(store->pools()).value().empty());
  CHECK(wait_for(store->machines().list_executions()).value().empty());
  CHECK(!wait_for(store->machines().find_execution("x")).value());
  CHECK(wait_for(store->machines().count_work("p")).value().pending == 0);
  CHECK(version() == 1);
}

TEST_CASE_FIXTURE(OpeningFixture,
                  "a store of the first version is brought up to date by who writes") {
  make_first_version();
  const auto reader = open_store(path, {.purpose = Purpose::read});
  REQUIRE(reader);
  REQUIRE(wait_for(reader->pools()));

  const auto store = open_store(path);

  REQUIRE(store);
  CHECK(version() == newest());
  CHECK(complete(*store, kRoom, "t1") != 0);
  const Purchase purchase{.day = 1, .limits = {{.scope = "agent:a"}}, .output_tokens = 5};
  REQUIRE(wait_for(store->reserve(purchase)));
  REQUIRE(wait_for(store->save_pools({{"a", "1"}})));
  CHECK(wait_for(reader->find_session(kRoom)).value()->turns == 1);
  CHECK(wait_for(reader->spending(1)).value().size() == 1);
  CHECK(wait_for(reader->pools()).value().size() == 1);
  REQUIRE(wait_for(store->machines().push_work("p", {"1"}, 3)));
  CHECK(wait_for(reader->machines().count_work("p")).value().pending == 1);
}

TEST_CASE_FIXTURE(OpeningFixture,
                  "a store from before machines keeps what it has and learns of them") {
  make_first_version();
  execute(sqlite::migrations()[1]);
  execute("INSERT INTO pools VALUES ('a', '1', 1); PRAGMA user_version = 2");

  const auto store = open_store(path);

  REQUIRE(store);
  CHECK(version() == newest());
  CHECK(wait_for(store->pools()).value() == std::vector<PoolRecord>{{"a", "1"}});
  CHECK(wait_for(store->find_session(kRoom)).value());
  CHECK(wait_for(store->machines().acquire("x")).value().token == 1);
}

TEST_CASE_FIXTURE(OpeningFixture,
                  "a store of the first version without one of its tables is damaged") {
  make_first_version();
  execute("DROP TABLE answers");

  CHECK(code_of(Purpose::read) == ErrorCode::corrupt);
  CHECK(code_of(Purpose::maintain) == ErrorCode::corrupt);
}

TEST_CASE_FIXTURE(OpeningFixture, "a directory is no store") {
  path = directory.path();
  const auto opened = open_sqlite_store(path);

  REQUIRE(!opened);
  CHECK(opened.error().code == ErrorCode::unavailable);
}

TEST_CASE_FIXTURE(OpeningFixture,
                  "a file or a directory that cannot be written to is said to be so") {
  REQUIRE(complete(*open_store(path), kRoom, "t1") != 0);
  REQUIRE(::chmod(directory.path().c_str(), 0755) == 0);
  REQUIRE(::chmod(path.c_str(), 0444) == 0);

  CHECK(as_nobody([&] { return is_unavailable(path); }) == 0);
  CHECK(as_nobody([&] { return is_unavailable(directory.path() + "/new/treaty.db"); }) == 0);
  REQUIRE(::chmod(path.c_str(), 0666) == 0);
  CHECK(as_nobody([&] { return is_unavailable(path); }) == 0);
}

}  // namespace treaty::store
