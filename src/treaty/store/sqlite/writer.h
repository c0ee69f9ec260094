// Commits batches of operations to a SQLite file, on the thread of a BatchWriter.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "treaty/store/batch_writer.h"
#include "treaty/store/sqlite/journal.h"

namespace treaty::store::sqlite {

class Writer {
 public:
  using Context = const Transaction;
  using Item = BatchWriter<Context>::Item;

  // The database is as open_for_writing() left it. `owners` is null when no turns are run.
  Writer(std::string path, Database database, const Owners* owners,
         std::function<Milliseconds()> now);
  ~Writer();  // Does what still waits, then leaves in good order.
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void add(Item item) { batches_.add(std::move(item)); }

  // From now on everything is answered with this.
  void refuse_all(const Error& error);

 private:
  std::optional<BatchFailure> commit(std::span<Item> batch);
  std::optional<Failure> attempt(std::span<Item> batch);
  std::expected<void, Error> check_open();
  Database watched(Database database);  // Counts the pages of its log.
  void checkpoint();
  void sign_off();

  const std::string path_;
  std::int64_t log_pages_ = 0;
  std::optional<Database> database_;  // Absent after the disk has failed: opened again when needed.
  const Owners* owners_;
  const std::function<Milliseconds()> now_;
  std::int64_t checkpoint_at_;  // Pages in the log.
  std::mutex refusal_mutex_;
  std::optional<Error> refusal_{};
  BatchWriter<Context> batches_;  // Last: its thread uses the others.
};

}  // namespace treaty::store::sqlite
