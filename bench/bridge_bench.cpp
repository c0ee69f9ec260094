// What `treaty bridge watch` needs: requests in many directories on the scripted agent, CPU for
// each and CPU at rest. Fails when a request is lost or answered twice.
//
//   bridge_bench [--directories N] [--requests N]    200, 2000
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/load/program.h"
#include "bench/rows.h"
#include "treaty/base/files.h"
#include "treaty/base/ids.h"
#include "treaty/base/json.h"
#include "treaty/base/timestamp.h"
#include "treaty/bridge/exchange.h"
#include "treaty/bridge/journal.h"
#include "treaty/bridge/names.h"

namespace {

namespace bridge = treaty::bridge;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLook{5};
constexpr std::chrono::seconds kRest{5};
constexpr std::chrono::seconds kLongest{120};

struct Size {
  int directories = 200;
  int requests = 2'000;
};

struct Asked {
  std::string directory;
  std::string suffix;
  std::string request_id;
};

std::size_t lines_of(const std::string& path) {
  std::ifstream file(path);
  return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
}

bool await_lines(const std::string& path, std::size_t count) {
  const auto end = Clock::now() + kLongest;
  while (lines_of(path) < count) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(kLook);
  }
  return true;
}

// What the watch tells on stdout goes to a file, a line for each answer.
std::vector<std::string> watch(const bench::Folder& folder, const std::string& answers,
                               const std::vector<std::string>& directories) {
  const std::string config =
      folder.write("treaty.yaml", "agents: {default: {backends: [{scripted: demo}]}}\n");
  std::vector<std::string> words = {"/bin/sh",
                                    "-c",
                                    fmt::format("exec \"$0\" \"$@\" > '{}'", answers),
                                    bench::treaty_binary(),
                                    "bridge",
                                    "watch",
                                    "--config",
                                    config,
                                    "--state-dir",
                                    (folder.path() / "state").string()};
  words.insert(words.end(), directories.begin(), directories.end());
  return words;
}

// As programs write them: beside, then renamed.
Asked ask(const std::string& directory, int phase) {
  Asked asked{directory, bridge::suffix_of_phase(phase), treaty::new_uuid()};
  const std::string file = bridge::path_in(directory, bridge::request_name(asked.suffix));
  std::ofstream(file + ".new") << treaty::contracts::encode(treaty::contracts::BridgeRequest{
      asked.request_id, "1.0", "default", "Say hello.", treaty::timestamp_now(), phase});
  fs::rename(file + ".new", file);
  return asked;
}

// How often the journals have each request as answered.
std::map<std::string, int> journalled(const std::vector<std::string>& directories) {
  std::map<std::string, int> times;
  for (const std::string& directory : directories) {
    const auto journal = bridge::read_journal(bridge::journal_path(directory));
    if (!journal) continue;
    for (const bridge::Entry& entry : journal->entries) {
      if (entry.event != "answer.written") continue;
      ++times[entry.details.find_text("request_id").value_or("")];
    }
  }
  return times;
}

// How many have exactly one answer, and it is theirs.
int answered_once(const std::vector<Asked>& all, const std::vector<std::string>& directories) {
  const auto times = journalled(directories);
  int right = 0;
  for (const Asked& asked : all) {
    const auto found = times.find(asked.request_id);
    const auto exchange = bridge::read_exchange(asked.directory, asked.suffix);
    const bool own = exchange.answer == bridge::AnswerState::answered &&
                     exchange.response.document->request_id == asked.request_id;
    if (own && found != times.end() && found->second == 1) ++right;
  }
  return right;
}

double own_cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// Milliseconds of CPU that the disk alone takes for an answer: a file that is flushed and renamed,
// and two lines of a journal. It depends much on what else the disk has just done.
double bare_files(const bench::Folder& folder) {
  constexpr int kTimes = 500;
  const std::string directory = (folder.path() / "bare").string();
  fs::create_directory(directory);
  const std::string text(1'200, 'x');
  const double before = own_cpu_seconds();
  for (int i = 0; i < kTimes; ++i) {
    const bridge::Entry entry{.event = "bare", .details = {{"text", std::string_view(text)}}};
    const std::string journal = bridge::path_in(directory, "journal");
    [[maybe_unused]] const auto asked = bridge::append_to_journal(journal, entry);
    [[maybe_unused]] const auto written =
        treaty::replace_file(bridge::path_in(directory, std::to_string(i)), text);
    [[maybe_unused]] const auto noted = bridge::append_to_journal(journal, entry);
  }
  return (own_cpu_seconds() - before) * 1e3 / kTimes;
}

bool measure(const Size& size) {
  const bench::Folder folder;
  std::vector<std::string> directories;
  for (int i = 0; i < size.directories; ++i) {
    directories.push_back((folder.path() / fmt::format("work{}", i)).string());
    fs::create_directory(directories.back());
  }
  const std::string answers = (folder.path() / "answers").string();
  const std::string errors = (folder.path() / "errors").string();
  const bench::Program program(watch(folder, answers, directories), errors);
  if (!await_lines(errors, 1)) return false;

  const double before = program.cpu_seconds();
  const auto start = Clock::now();
  std::vector<Asked> all;
  for (int i = 0; i < size.requests; ++i) {
    const auto place = static_cast<std::size_t>(i % size.directories);
    all.push_back(ask(directories[place], i / size.directories + 1));
  }
  const bool complete = await_lines(answers, all.size());
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const double worked = program.cpu_seconds();
  std::this_thread::sleep_for(kRest);
  const double rested = program.cpu_seconds();

  const int right = answered_once(all, directories);
  const std::string what =
      fmt::format("watch: {} requests, {} directories", size.requests, size.directories);
  bench::tell(
      {"B1", what, (worked - before) * 1e3 / size.requests, "ms CPU each", 2, false,
       fmt::format("their files alone {:.2f} ms; {:.0f} requests/s, {:.1f} MiB", bare_files(folder),
                   size.requests / seconds, program.resident_kilobytes() / 1024)});
  bench::tell({"B1", "watch: answered once, by their own answer", static_cast<double>(right),
               "requests", static_cast<double>(size.requests), true, ""});
  const double share = (rested - worked) * 100 / static_cast<double>(kRest.count());
  bench::tell({"B1", "watch at rest", share, "% CPU", 1, false, ""});
  return complete && right == size.requests;
}

}  // namespace

int main(int argc, char** argv) {
  Size size;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--directories") size.directories = std::atoi(argv[i + 1]);
    if (option == "--requests") size.requests = std::atoi(argv[i + 1]);
  }
  return measure(size) ? 0 : 1;
}
