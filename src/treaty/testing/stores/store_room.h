// For tests of the store: calls that wait for their answer, turns in few words, other processes
// that use it, and a disk that is full.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <csignal>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "treaty/store/sqlite/sqlite_store.h"
#include "treaty/testing/temporary_directory.h"

namespace treaty::testing {

// The answers of calls that are begun together, in their order.
template <class T>
std::vector<std::expected<T, Error>> wait_for_all(std::vector<store::Task<T>> tasks) {
  boost::asio::io_context loop;
  std::vector<std::optional<std::expected<T, Error>>> answers(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    boost::asio::co_spawn(loop, std::move(tasks[i]),
                          [&answers, i](const std::exception_ptr&, std::expected<T, Error> answer) {
                            answers[i] = std::move(answer);
                          });
  }
  loop.run();
  std::vector<std::expected<T, Error>> all;
  all.reserve(answers.size());
  for (auto& answer : answers) all.push_back(*std::move(answer));
  return all;
}

template <class T>
std::expected<T, Error> wait_for(store::Task<T> task) {
  std::vector<store::Task<T>> tasks;
  tasks.push_back(std::move(task));
  return std::move(wait_for_all(std::move(tasks)).front());
}

template <class T>
bool is_conflict(const std::expected<T, Error>& answer) {
  return !answer && answer.error().code == ErrorCode::conflict;
}

inline const store::Room kRoom{.tenant = "local", .session_id = "s1"};

inline std::unique_ptr<store::Store> open_store(const std::string& path,
                                                store::StoreOptions options = {}) {
  auto opened = store::open_sqlite_store(path, std::move(options));
  return opened ? *std::move(opened) : nullptr;
}

// A request as the engine would journal it.
inline store::RequestRecord request_of(const std::string& key, int round = 0) {
  return {
      .round = round, .key = key, .fingerprint = key + "!", .body = "{\"Key\":\"" + key + "\"}"};
}

inline store::AnswerRecord answer_of(const std::string& body, int round = 0) {
  return {.round = round, .body = body, .transcript = "said " + body, .created_at = 7};
}

// A new turn in a session, which is opened when it is not there.
inline store::Change new_turn(const store::View& view, const store::Room& room,
                              const std::string& turn_id) {
  store::Change change;
  if (!view.session) change.open = store::NewSession{.room = room};
  change.begin = store::NewTurn{.turn_id = turn_id, .mode = "General"};
  change.request = request_of("key of " + turn_id);
  return change;
}

inline std::expected<store::Applied, Error> begin(store::Store& store, const store::Room& room,
                                                  const std::string& turn_id) {
  return wait_for(store.transact({.room = room, .turn_id = turn_id}, [=](const store::View& view) {
    return new_turn(view, room, turn_id);
  }));
}

inline std::expected<void, Error> settle(store::Store& store, std::int64_t turn,
                                         store::TurnState state, const std::string& body,
                                         int round = 0) {
  return wait_for(store.settle({.turn = turn,
                                .update = {.state = state, .round = round, .events = 3},
                                .answer = answer_of(body, round)}));
}

// A turn that is begun and completed; its row, or 0.
inline std::int64_t complete(store::Store& store, const store::Room& room,
                             const std::string& turn_id) {
  const auto applied = begin(store, room, turn_id);
  if (!applied) return 0;
  const auto settled =
      settle(store, applied->turn, store::TurnState::completed, "answer to " + turn_id);
  return settled ? applied->turn : 0;
}

// What a decision sees.
inline store::View look(store::Store& store, store::Lookup lookup) {
  auto answer = wait_for(store.decide(std::move(lookup), [](const store::View& view) {
    return store::Proposal<store::View>{.value = view};
  }));
  return answer ? std::move(answer->value) : store::View{};
}

// In memory where there is such a place: for tests that end no power, and where syncing would take
// long.
inline std::filesystem::path quick_place() {
  const std::filesystem::path memory = "/dev/shm";
  return ::access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
}

// A process that opens the store, does something there, and then stays until it is killed. It is
// forked: neither threads nor connections of SQLite survive that, so this process must have no
// store open.
class OtherProcess {
 public:
  OtherProcess(const std::string& path, const std::function<bool(store::Store&)>& deed) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) return;
    child_ = ::fork();
    if (child_ == 0) {
      const auto store = open_store(path);
      const char said = store && deed(*store) ? 'y' : 'n';
      if (::write(ends[1], &said, 1) != 1) ::_exit(1);
      while (true) ::pause();
    }
    ::close(ends[1]);
    char heard = 'n';
    has_done_it_ = ::read(ends[0], &heard, 1) == 1 && heard == 'y';
    ::close(ends[0]);
  }
  ~OtherProcess() { kill(); }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  bool has_done_it() const { return has_done_it_; }

  void kill() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = 0;
  }

 private:
  pid_t child_ = 0;
  bool has_done_it_ = false;
};

// While it lives, no file of this process can be written to.
class FullDisk {
 public:
  FullDisk() {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit none = before_;
    none.rlim_cur = 0;
    ::setrlimit(RLIMIT_FSIZE, &none);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  void (*handler_)(int) = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before_{};
};

}  // namespace treaty::testing
