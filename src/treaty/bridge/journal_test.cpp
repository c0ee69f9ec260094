#include "treaty/bridge/journal.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "treaty/base/files.h"
#include "treaty/testing/generators.h"
#include "treaty/testing/temporary_directory.h"

using namespace treaty;
using namespace treaty::bridge;

namespace fs = std::filesystem;

namespace {

const Entry kFirst{"2026-03-01T08:30:00Z",
                   "run.started",
                   {{"command", std::vector<std::string>{"./program", "--all"}}}};
const Entry kSecond{"2026-03-01T08:30:01Z", "program.started", {{"pid", 4711}, {"resume", false}}};
const Entry kThird{"2026-03-01T08:30:02Z", "program.exited", {{"code", 42}}};

class Room {
 public:
  const std::string& path() const { return path_; }
  void write(std::string_view text) const { REQUIRE(replace_file(path_, text)); }
  std::string text() const { return read_file(path_, std::size_t{1} << 20U).value_or("?"); }
  JournalText journal() const {
    const auto read = read_journal(path_);
    REQUIRE(read);
    return *read;
  }

 private:
  testing::TemporaryDirectory directory_{};
  std::string path_ = directory_.path() + "/journal.ndjson";
};

json::ValueText any_detail() {
  switch (*rc::gen::inRange(0, 6)) {
    case 0: return nullptr;
    case 1: return *rc::gen::arbitrary<bool>();
    case 2: return *rc::gen::arbitrary<std::int64_t>();
    case 3: return *rc::gen::arbitrary<int>() / 8.0;
    case 4: return std::vector<std::string>{*testing::any_text(), "1"};
    default: return *testing::any_text();
  }
}

Entry any_entry() {
  Entry entry{.at = *testing::any_text(), .event = "e" + *testing::any_text()};
  const int members = *rc::gen::inRange(0, 4);
  for (int member = 0; member < members; ++member) {
    entry.details.set("m" + *testing::any_text(), any_detail());
  }
  return entry;
}

}  // namespace

TEST_CASE("every entry is one line that reads back as itself") {
  CHECK(rc::check([] {
    const Entry entry = any_entry();
    const std::string line = encode(entry);
    RC_ASSERT(!line.contains('\n'));

    const JournalText read = decode_journal(line + "\n");

    RC_ASSERT(read.damaged_lines == 0U);
    RC_ASSERT(read.entries.size() == 1U);
    RC_ASSERT(read.entries.front() == entry);
  }));
}

TEST_CASE("lines that are no entries are counted and passed over") {
  const JournalText read = decode_journal("{}\n" + encode(kFirst) +
                                          "\n\n   \nnonsense\n[1]\n{\"event\": 3}\n"
                                          "{\"event\": \"a\", \"event\": \"b\"}\n" +
                                          encode(kSecond));

  CHECK(read.entries == std::vector<Entry>{kFirst, kSecond});
  CHECK(read.damaged_lines == 5);
}

TEST_CASE("a journal may be cut anywhere: what stands before the cut line is read") {
  const std::string whole = encode(kFirst) + "\n" + encode(kSecond) + "\n" + encode(kThird) + "\n";
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const std::string_view text = std::string_view(whole).substr(0, size);
    const auto ends = static_cast<std::size_t>(std::ranges::count(text, '\n'));

    const JournalText read = decode_journal(text);

    CAPTURE(text);
    CHECK(read.damaged_lines <= 1);
    CHECK(read.entries.size() >= ends);
    CHECK(read.entries.size() <= ends + 1);
  }
}

TEST_CASE("a journal that is not there is empty") {
  const Room room;

  CHECK(room.journal().entries.empty());
  CHECK(room.journal().damaged_lines == 0);
}

TEST_CASE("a journal that cannot be read is an error, not an empty one") {
  const Room room;
  fs::create_directory(room.path());

  CHECK(!read_journal(room.path()));
}

TEST_CASE("what is appended is read back in its order") {
  const Room room;

  for (const Entry& entry : {kFirst, kSecond, kThird}) {
    REQUIRE(append_to_journal(room.path(), entry));
  }

  CHECK(room.journal().entries == std::vector<Entry>{kFirst, kSecond, kThird});
  CHECK(room.journal().damaged_lines == 0);
}

TEST_CASE("after a cut at any byte of the last line the next entry stands on a line of its own") {
  const Room room;
  const std::string before = encode(kFirst) + "\n";
  const std::string last = encode(kSecond) + "\n";
  for (std::size_t size = 0; size <= last.size(); ++size) {
    room.write(before + last.substr(0, size));

    REQUIRE(append_to_journal(room.path(), kThird));

    CAPTURE(room.text());
    const JournalText read = room.journal();
    const bool survived = size + 1 >= last.size();  // Only its end is missing, or nothing.
    const bool cut = size > 0 && !survived;
    CHECK(read.damaged_lines == (cut ? 1U : 0U));
    REQUIRE(read.entries.size() == (survived ? 3U : 2U));
    CHECK(read.entries.front() == kFirst);
    CHECK(read.entries.back() == kThird);
    CHECK(room.text().ends_with("\n" + encode(kThird) + "\n"));
  }
}

TEST_CASE("zeros that a crash has left at the end cost one line and no more") {
  const Room room;
  room.write(encode(kFirst) + "\n" + std::string(4096, '\0'));

  REQUIRE(append_to_journal(room.path(), kSecond));

  CHECK(room.journal().entries == std::vector<Entry>{kFirst, kSecond});
  CHECK(room.journal().damaged_lines == 1);
}

TEST_CASE("threads that append at once do not mix their lines") {
  const Room room;
  constexpr int kEach = 50;
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] {
        for (int time = 0; time < kEach; ++time) {
          CHECK(append_to_journal(room.path(), {"t", "e", {{"text", std::string(3000, 'x')}}}));
        }
      });
    }
  }

  CHECK(room.journal().entries.size() == 4 * kEach);
  CHECK(room.journal().damaged_lines == 0);
}

TEST_CASE("nothing is appended through a link, nor to what is no file") {
  const Room room;
  const std::string elsewhere = room.path() + ".elsewhere";
  fs::create_symlink(elsewhere, room.path());

  const auto through_link = append_to_journal(room.path(), kFirst);

  CHECK(!through_link);
  CHECK(!fs::exists(elsewhere));
  fs::remove(room.path());
  REQUIRE(mkfifo(room.path().c_str(), 0600) == 0);
  CHECK(append_to_journal(room.path(), kFirst).error().where == room.path());
}

TEST_CASE("an entry about names that are not UTF-8 is read back, with marks in their place") {
  const Entry odd{"t",
                  "run.started",
                  {{"command", std::vector<std::string>{"./caf\xE9", "--all"}}, {"n\xFF", "\xC3"}}};

  const JournalText read = decode_journal(encode(odd));

  CHECK(read.damaged_lines == 0);
  REQUIRE(read.entries.size() == 1);
  CHECK(read.entries.front().details ==
        json::ObjectText{{"command", std::vector<std::string>{"./caf\uFFFD", "--all"}},
                         {"n\uFFFD", "\uFFFD"}});
}

TEST_CASE("a line for which the disk has no room is told, and costs no other line") {
  const Room room;
  REQUIRE(append_to_journal(room.path(), kFirst));
  const std::string before = room.text();
  const pid_t child = fork();
  if (child == 0) {  // Its files may be ten bytes longer than the journal is.
    const rlimit most{before.size() + 10, before.size() + 10};
    setrlimit(RLIMIT_FSIZE, &most);
    signal(SIGXFSZ, SIG_IGN);
    const auto cut = append_to_journal(room.path(), kSecond);
    const auto none = append_to_journal(room.path(), kSecond);
    const bool told = !cut && cut.error().message.contains("No space") && !none;
    _exit(told ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(room.text().size() == before.size() + 10);

  REQUIRE(append_to_journal(room.path(), kThird));

  CHECK(room.journal().entries == std::vector<Entry>{kFirst, kThird});
  CHECK(room.journal().damaged_lines == 1);
}

TEST_CASE("a journal that is too large is not read in part: its end counts most") {
  const Room room;
  REQUIRE(append_to_journal(room.path(), kFirst));
  fs::resize_file(room.path(), (std::uintmax_t{256} << 20U) + 1);

  CHECK(read_journal(room.path()).error().code == ErrorCode::unreadable);
}

TEST_CASE("a journal that is rewritten has the entries that were kept, and stays if all were") {
  const Room room;
  for (const Entry& entry : {kFirst, kSecond, kThird})
    REQUIRE(append_to_journal(room.path(), entry));

  REQUIRE(rewrite_journal(room.path(), [](const std::vector<Entry>& entries) {
    return std::optional(std::vector<Entry>(entries.begin() + 1, entries.end()));
  }));
  CHECK(room.journal().entries == std::vector<Entry>{kSecond, kThird});

  const std::string before = room.text();
  REQUIRE(rewrite_journal(
      room.path(), [](const std::vector<Entry>&) { return std::optional<std::vector<Entry>>(); }));
  CHECK(room.text() == before);
  CHECK(rewrite_journal(room.path() + ".absent",
                        [](const std::vector<Entry>& entries) { return std::optional(entries); }));
}

TEST_CASE("lines that are no entries stay in a rewritten journal, byte for byte") {
  const Room room;
  const std::string edited = "{\"at\": oops\xFF}\r\n";
  const std::string torn = "{\"at\":\"2026";
  room.write(encode(kFirst) + "\n" + edited + encode(kSecond) + "\n" + encode(kThird) + "\n" +
             torn);

  REQUIRE(rewrite_journal(room.path(), [](const std::vector<Entry>& entries) {
    return std::optional(std::vector<Entry>{entries.back()});
  }));

  CHECK(room.text() == edited + encode(kThird) + "\n" + torn);
  REQUIRE(append_to_journal(room.path(), kFirst));
  CHECK(room.journal().entries == std::vector<Entry>{kThird, kFirst});
  CHECK(room.journal().damaged_lines == 2);
}

TEST_CASE("nothing that is appended while a journal is rewritten is lost") {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kEach = 25;
  const Room room;
  REQUIRE(append_to_journal(room.path(), kFirst));
  std::vector<std::thread> threads;
  for (std::size_t number = 0; number < kThreads; ++number) {
    threads.emplace_back([&room] {
      for (std::size_t i = 0; i < kEach; ++i) CHECK(append_to_journal(room.path(), kSecond));
    });
  }

  for (int i = 0; i < 20; ++i) {
    CHECK(rewrite_journal(
        room.path(), [](const std::vector<Entry>& entries) { return std::optional(entries); }));
  }
  for (std::thread& thread : threads) thread.join();

  CHECK(room.journal().entries.size() == 1 + kThreads * kEach);
  CHECK(room.journal().damaged_lines == 0);
}
