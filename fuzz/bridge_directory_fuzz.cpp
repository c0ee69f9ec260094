// Fuzzes directories of the bridge: whatever lies there, under whatever name, it can be read,
// diagnosed and mended; mending loses no file, leaves nothing that could be taken for another
// answer, and has nothing left to do a second time.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string>

#include "require.h"
#include "treaty/base/files.h"
#include "treaty/base/timestamp.h"
#include "treaty/bridge/diagnosis/diagnosis.h"
#include "treaty/bridge/driver.h"
#include "treaty/bridge/names.h"
#include "treaty/bridge/run_state.h"
#include "treaty/cli/bridge/mending.h"

using namespace treaty;  // NOLINT: a target is one file.
using fuzz::require;

namespace fs = std::filesystem;

namespace {

constexpr std::array<std::string_view, 16> kNames = {
    ".agent-request.json",
    ".agent-response.json",
    ".agent-request-phase1.json",
    ".agent-response-phase1.json",
    ".agent-request-phase5.json",
    ".agent-response-phase5.json",
    "agent-response.json",
    "out/.agent-response.json",
    "answer.json",
    ".agent-response.json.treaty-a1b2c3",
    ".agent-request.json.treaty-a1b2c3",
    ".treaty-bridge/journal.ndjson",
    ".treaty-bridge/lock",
    ".treaty-bridge",
    ".treaty-bridge/quarantine",
    ".agent-response-phase007.json",
};

// Texts that the fuzzer need not find by itself; what follows them in the input is appended.
constexpr std::array<std::string_view, 8> kBeginnings = {
    "",
    R"({"request_id":"6f1c2a34-9d0b-4e57-8a1f-2b7c5d90e3a6","version":"1.0","agent_name":"a","prompt":"p","created_at":"2026-01-01T00:00:00Z"})",
    R"({"request_id":"0b8de6c2-51f7-4a3e-9c44-7d2f1e6ab905","version":"1.0","agent_name":"a","prompt":"p","created_at":"2026-01-01T00:00:00Z","response_file":"answer.json"})",
    R"({"request_id":"6f1c2a34-9d0b-4e57-8a1f-2b7c5d90e3a6","version":"1.0","status":"success","response":"r","error_message":null,"error_type":null,"created_at":"2026-01-01T00:01:00Z","duration_seconds":1,"metadata":{}})",
    R"({"request_id":"6f1c2a34-9d0b-4e57-8a1f-2b7c5d90e3a6","version":"1.0","status":"error","response":null,"error_message":"e","error_type":null,"created_at":"2025-01-01T00:01:00","duration_seconds":"1","metadata":{}})",
    R"({"request_id":"0b8de6c2-51f7-4a3e-9c44-7d2f1e6ab905","version":"1.0","status":"success","response":{"a":1},"error_message":null,"error_type":null,"created_at":"2026-01-01T00:01:00Z","duration_seconds":1,"metadata":{}})",
    "\xEF\xBB\xBF{}",
    "{\"at\":\"2026-01-01T00:00:00Z\",\"event\":\"run.started\",\"command\":[\"x\"]}\n"
    "{\"at\":\"2026-01-01T00:00:00Z\",\"event\":\"program.exited\",\"code\":42}\n",
};

// A directory in memory, where there is one; removed when the process ends.
class Room {
 public:
  Room() {
    std::error_code failed;
    const fs::path base = fs::is_directory("/dev/shm", failed) ? "/dev/shm" : "/tmp";
    std::string name = (base / "treaty-bridge-fuzz-XXXXXX").string();
    require(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Room() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  const std::string& path() const { return path_; }

  void empty() const {
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(path_, failed)) fs::remove_all(entry, failed);
  }

  // Ten minutes old, unless it is young.
  void put(std::string_view name, std::string_view text, bool young) const {
    const std::string path = bridge::path_in(path_, name);
    std::error_code failed;
    fs::create_directories(fs::path(path).parent_path(), failed);
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0) return;  // Something else has the name.
    require(write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    if (!young) {
      const timespec then{.tv_sec = time(nullptr) - 600, .tv_nsec = 0};
      const std::array<timespec, 2> times = {then, then};
      require(futimens(file, times.data()) == 0);
    }
    close(file);
  }

  // What the files hold that nobody may lose.
  std::multiset<std::string> contents(bool all) const {
    std::multiset<std::string> texts;
    std::error_code failed;
    for (auto entry = fs::recursive_directory_iterator(path_, failed);
         !failed && entry != fs::recursive_directory_iterator(); entry.increment(failed)) {
      const std::string name = entry->path().filename().string();
      const bool ours = name == "lock" || name == "journal.ndjson";
      // The driver clears away what killed drivers have left.
      const bool leftover = name.starts_with(".agent-response") && name.contains(kTemporaryMark);
      if (!entry->is_regular_file(failed) || ours || (leftover && !all)) continue;
      if (auto text = read_file(entry->path().string(), std::size_t{1} << 20U)) texts.insert(*text);
    }
    return texts;
  }

 private:
  std::string path_;
};

// Files, each as: which name, how it begins, how much follows, what follows.
void fill(const Room& room, std::string_view input) {
  constexpr std::size_t kHead = 3;
  for (int count = 0; count < 8 && input.size() >= kHead; ++count) {
    const auto at = [&](std::size_t place) { return static_cast<unsigned char>(input[place]); };
    const std::size_t length = std::min<std::size_t>(at(2), input.size() - kHead);
    const std::string text =
        std::string(kBeginnings[at(1) % kBeginnings.size()]).append(input.substr(kHead, length));
    room.put(kNames[at(0) % kNames.size()], text, at(1) >= 0x80);
    input.remove_prefix(kHead + length);
  }
}

void look(const std::string& directory) {
  const bridge::DirectoryView view = bridge::look_at(directory);
  for (const bridge::Diagnosis& diagnosis : bridge::diagnose(view)) {
    require(!diagnosis.what.empty() && !diagnosis.why.empty());
  }
  require(!bridge::text_of(bridge::status_of(view), view).empty());
  const bridge::RunState run = bridge::replay_run(view.journal.entries);
  bridge::open_requests(view.journal.entries);
  bridge::after_need(view.exchanges, run, bridge::kDefaultMostResumes);
  for (const bridge::Entry& entry : view.journal.entries) {
    const auto again = bridge::decode_journal(bridge::encode(entry) + "\n");
    require(again.entries.size() == 1 && again.entries.front().event == entry.event);
  }
}

// Only what is inside may be touched: a request may name any place of the machine.
bool stays_inside(const std::string& directory) {
  const auto exchanges = bridge::read_exchanges(directory);
  return exchanges && std::ranges::all_of(*exchanges, [&](const bridge::Exchange& exchange) {
           return exchange.response.path.starts_with(directory + "/");
         });
}

void mend(const Room& room) {
  const auto before = room.contents(false);
  auto driver = bridge::Driver::open(room.path(), "check");
  if (!driver) return;  // A lock that says that somebody is there; a file for the folder.
  std::vector<cli::Mended> done;
  if (!cli::mend_directory(*driver, timestamp_now(), done)) return;

  const auto after = room.contents(true);
  require(std::ranges::includes(after, before));
  for (const cli::Mended& one : done) {
    require(!one.moved_to.empty() || fs::exists(one.kept_as));
  }
  const auto exchanges = bridge::read_exchanges(room.path());
  require(exchanges.has_value());
  for (const bridge::Exchange& exchange : *exchanges) {
    if (!exchange.is_asked()) continue;
    require(exchange.answer != bridge::AnswerState::foreign);
    require(exchange.answer != bridge::AnswerState::stale);
  }
  std::vector<cli::Mended> again;
  require(cli::mend_directory(*driver, timestamp_now(), again).has_value());
  require(again.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Room kRoom;  // NOLINT: libFuzzer has no place for what is made once.
  kRoom.empty();
  fill(kRoom, fuzz::as_text(data, size));
  look(kRoom.path());
  if (stays_inside(kRoom.path())) mend(kRoom);
  look(kRoom.path());
  return 0;
}
