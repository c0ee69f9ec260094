// The one thread that writes: takes all that waits into one transaction, and answers when it is on
// the disk.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "treaty/store/sqlite/journal.h"
#include "treaty/store/sqlite/queue.h"

namespace treaty::store::sqlite {

class Writer {
 public:
  using Context = const Transaction;
  using Item = Queue<Context>::Item;

  // The database is as open_for_writing() left it. `owners` is null when no turns are run.
  Writer(std::string path, Database database, const Owners* owners,
         std::function<Milliseconds()> now);
  ~Writer();  // Does what still waits, then leaves in good order.
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void add(Item item) { queue_.add(std::move(item)); }

  // From now on everything is answered with this.
  void refuse_all(const Error& error);

 private:
  void work();
  void commit(std::span<Item> batch);
  std::optional<Failure> attempt(std::span<Item> batch);
  bool is_open(std::span<Item> batch);
  void checkpoint();
  void sign_off();

  const std::string path_;
  std::optional<Database> database_;  // Absent after the disk has failed: opened again when needed.
  const Owners* owners_;
  const std::function<Milliseconds()> now_;
  std::int64_t checkpoint_at_;  // Pages in the log.
  std::int64_t log_pages_ = 0;
  std::mutex refusal_mutex_;
  std::optional<Error> refusal_{};
  Queue<Context> queue_;
  std::thread thread_;
};

}  // namespace treaty::store::sqlite
