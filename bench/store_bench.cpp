// What a durable turn costs in the store: one decision and one settlement, by many clients at once,
// with CPU time of the whole process and of the writer alone. No HTTP, no agent.
//
//   store_bench [TURNS [CLIENTS [FILLED]]]   FILLED: turns that are there before the clock starts.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <charconv>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/store/sqlite/sqlite_store.h"
#include "treaty/testing/simulation/fake_clock.h"

namespace {

namespace asio = boost::asio;
namespace store = treaty::store;
using Clock = std::chrono::steady_clock;

constexpr double kMicro = 1e6;
constexpr int kTurnsOfSession = 100;

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / kMicro;
}

double process_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// The store asks for the time once a transaction, on the thread that writes.
struct WriterClock {
  std::atomic<double> cpu = 0;
  std::atomic<int> transactions = 0;

  store::Milliseconds now() {
    cpu = thread_seconds();
    ++transactions;
    return 1;
  }
};

struct Load {
  store::Store& journal;
  int turns;  // Still to be begun.
  int made = 0;
  int failed = 0;
  std::string request_body = std::string(900, 'r');
  std::string answer_body = std::string(500, 'a');
  std::string transcript = std::string(500, 't');
};

std::string key_of(int client, int turn) {
  std::string key = fmt::format("{:016x}{:016x}", client, turn);
  return key;
}

asio::awaitable<void> client(Load& load, int number) {
  for (int turn = 0; load.turns > 0; ++turn) {
    --load.turns;
    const store::Room room{"local", fmt::format("session-{}-{}", number, turn / kTurnsOfSession)};
    const std::string turn_id = fmt::format("turn-{}", turn);
    const std::string key = key_of(number, turn);
    const auto applied = co_await load.journal.transact(
        {.room = room, .turn_id = turn_id, .key = key}, [&](const store::View& view) {
          store::Change change;
          if (!view.session) {
            change.open = store::NewSession{.room = room};
            change.agent = "default";
          }
          change.begin = store::NewTurn{.turn_id = turn_id, .mode = "General"};
          change.request =
              store::RequestRecord{.key = key, .fingerprint = key, .body = load.request_body};
          return change;
        });
    if (!applied) {
      ++load.failed;
      continue;
    }
    const auto settled = co_await load.journal.settle(
        {.turn = applied->turn,
         .update = {.state = store::TurnState::completed, .events = 2},
         .answer = {.body = load.answer_body, .transcript = load.transcript}});
    ++(settled ? load.made : load.failed);
  }
}

// Answers how many failed.
int run(store::Store& journal, int turns, int clients, int first_client) {
  asio::io_context loop(1);
  Load load{.journal = journal, .turns = turns};
  for (int i = 0; i < clients; ++i) {
    asio::co_spawn(loop, client(load, first_client + i), asio::detached);
  }
  loop.run();
  return load.failed;
}

double commit_microseconds(const std::string& path) {
  constexpr int kCommits = 200;
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const std::string page(4096, 'x');
  const auto begin = Clock::now();
  for (int i = 0; i < kCommits; ++i) {
    if (::pwrite(file, page.data(), page.size(), i * 4096) < 0 || ::fdatasync(file) != 0) break;
  }
  const std::chrono::duration<double> took = Clock::now() - begin;
  ::close(file);
  return took.count() / kCommits * kMicro;
}

void measure(store::Store& journal, WriterClock& clock, int turns, int clients, int first_client) {
  const double cpu = process_seconds();
  const double writer = clock.cpu;
  const int transactions = clock.transactions;
  const auto begin = Clock::now();
  const int failed = run(journal, turns, clients, first_client);
  const std::chrono::duration<double> took = Clock::now() - begin;
  const double each = kMicro / turns;
  fmt::print(
      "{:>8} turns, {:>3} clients: {:>6.1f} CPU us/turn, writer {:>5.1f} us/operation, "
      "{:>6.0f} turns/s, {:>5.1f} operations/transaction, {:>6.0f} us/turn of one client{}\n",
      turns, clients, (process_seconds() - cpu) * each, (clock.cpu - writer) * each / 2,
      turns / took.count(), 2.0 * turns / (clock.transactions - transactions),
      took.count() * each * clients, failed == 0 ? "" : fmt::format(", {} FAILED", failed));
}

// Opens the files as a crash at this moment would leave them, and claims what was running.
void measure_recovery(const std::string& directory) {
  const std::string crashed = directory + "/crashed";
  std::filesystem::create_directory(crashed);
  for (const char* file : {"/treaty.db", "/treaty.db-wal"}) {
    std::filesystem::copy_file(directory + file, crashed + file);
  }
  const auto begin = Clock::now();
  const auto opened = store::open_sqlite_store(crashed + "/treaty.db");
  if (!opened) return fmt::print("after a crash: {}\n", opened.error().message);
  std::size_t claimed = 0;
  asio::io_context loop(1);
  const auto claim_all = [&]() -> asio::awaitable<void> {
    const auto diary = [](const store::Round&) { return ""; };
    while (true) {
      const auto some = co_await (*opened)->claim_abandoned(diary, std::nullopt);
      if (!some || some->empty()) co_return;
      claimed += some->size();
    }
  };
  asio::co_spawn(loop, claim_all, asio::detached);
  loop.run();
  const std::chrono::duration<double> took = Clock::now() - begin;
  fmt::print("after a crash: {:.0f} MB opened and {} turns claimed in {:.0f} ms\n",
             static_cast<double>(std::filesystem::file_size(crashed + "/treaty.db")) / kMicro,
             claimed, took.count() * 1e3);
}

int number_of(std::string_view text, int otherwise) {
  int number = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

int main(int argc, char** argv) {
  const int turns = argc > 1 ? number_of(argv[1], 0) : 20'000;
  const int clients = argc > 2 ? number_of(argv[2], 1) : 32;
  const int filled = argc > 3 ? number_of(argv[3], 0) : 0;
  std::string name = (std::filesystem::current_path() / "store-bench-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) return 1;
  WriterClock clock;
  {
    auto opened = store::open_sqlite_store(
        name + "/treaty.db", {.clock = treaty::testing::wall_clock([&] { return clock.now(); })});
    if (!opened) {
      fmt::print(stderr, "store_bench: {}\n", opened.error().message);
      return 1;
    }
    fmt::print("one page written and synced: {:.0f} us\n", commit_microseconds(name + "/page"));
    store::Store& journal = **opened;
    run(journal, 1'000, clients, 0);
    measure(journal, clock, turns, clients, 1'000);
    measure(journal, clock, turns / 20, 1, 2'000);
    if (filled > 0) {
      measure(journal, clock, filled, 64, 10'000);
      measure(journal, clock, turns, clients, 3'000);
    }
    measure_recovery(name);
  }
  std::filesystem::remove_all(name);
  return 0;
}
