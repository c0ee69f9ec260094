// How the operations of a store reach its database: on threads. One writes, in transactions that
// all waiting operations share; others read, each over a connection of its own.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "treaty/base/mutex.h"
#include "treaty/store/batch_writer.h"
#include "treaty/store/sqlite/opening.h"
#include "treaty/store/store_options.h"

namespace treaty::store::sqlite {

class Writer {
 public:
  using Context = const Transaction;
  using Item = std::unique_ptr<Operation<Context>>;

  // The database is as open_database() left it. `owner` as in Transaction.
  Writer(std::string path, Database database, std::int64_t owner, IsGone is_gone,
         std::shared_ptr<const Clock> clock);
  ~Writer();  // Does what still waits, then leaves in good order.
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void add(Item item, Priority priority) { batches_.add(std::move(item), priority); }

  // From now on everything is answered with this.
  void refuse_all(const Error& error);

 private:
  std::optional<BatchFailure> commit(std::span<Item> batch);
  std::expected<void, Error> check_open();
  Database watched(Database database);  // Counts the pages of its log.
  void checkpoint_when_due();
  void checkpoint();

  const std::string path_;
  std::int64_t log_pages_ = 0;
  std::optional<Database> database_;  // Absent after the disk has failed: opened again when needed.
  const std::int64_t owner_;
  const IsGone is_gone_;
  const std::shared_ptr<const Clock> clock_;
  std::int64_t checkpoint_at_;  // Pages in the log.
  Mutex refusal_mutex_;
  std::optional<Error> refusal_ TREATY_GUARDED_BY(refusal_mutex_){};
  BatchWriter<Context> batches_;  // Last: its thread uses the others.
};

// Threads of its own instead of an OffloadPool: a connection belongs to one thread, which opens it
// once and keeps its prepared statements and its cache of pages.
class Readers {
 public:
  using Context = Database;
  using Item = std::unique_ptr<Operation<Context>>;

  Readers(std::string path, std::size_t threads);
  ~Readers();  // Does what still waits, then leaves.
  Readers(const Readers&) = delete;
  Readers& operator=(const Readers&) = delete;

  void add(Item item, Priority priority) { queue_.add(std::move(item), priority); }

 private:
  void work();
  void read(std::optional<Database>& database, Operation<Context>& operation) const;

  const std::string path_;
  OperationQueue<Context> queue_;
  std::vector<std::thread> threads_;
};

template <class T>
struct ValueOf {
  using Type = T;
};
template <class T>
struct ValueOf<std::expected<T, Error>> {
  using Type = T;
};

class Connections {
 public:
  // The database is as open_database() left it.
  Connections(const std::string& path, Opened opened, const StoreOptions& options);
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  // What function(database, arguments…) answers. It sees one state of the store. For what a turn
  // needs.
  template <class Function, class... Arguments>
  auto read(Function function, Arguments... arguments) {
    return read_with(readers_, std::move(function), std::move(arguments)...);
  }

  // The same for lists and for reads that take longer: on threads of their own, so that no turn
  // waits for them.
  template <class Function, class... Arguments>
  auto browse(Function function, Arguments... arguments) {
    return read_with(browsers_, std::move(function), std::move(arguments)...);
  }

  // What function(transaction, arguments…) answers, when the transaction is committed.
  template <class Function, class... Arguments>
  auto write(Function function, Arguments... arguments) {
    return write_with(Priority::normal, std::move(function), std::move(arguments)...);
  }

  // The same for one small step of a long piece of work, which lets other writes go first.
  template <class Function, class... Arguments>
  auto write_step(Function function, Arguments... arguments) {
    return write_with(Priority::yielding, std::move(function), std::move(arguments)...);
  }

  // From now on every write is answered with this.
  void refuse_writes(const Error& error) { writer_->refuse_all(error); }

 private:
  template <class Function, class... Arguments,
            class Result = std::invoke_result_t<Function&, Database&, const Arguments&...>,
            class T = ValueOf<Result>::Type>
  static Task<T> read_with(Readers& readers, Function function, Arguments... arguments) {
    return submit<T>(readers,
                     [function, ... arguments = std::move(arguments)](Database& database)
                         -> std::expected<T, Error> { return function(database, arguments...); });
  }

  template <class Function, class... Arguments,
            class Result = std::invoke_result_t<Function&, const Transaction&, const Arguments&...>,
            class T = ValueOf<Result>::Type>
  Task<T> write_with(Priority priority, Function function, Arguments... arguments) {
    if (!writer_) {
      co_return fail(ErrorCode::unavailable, "the store was opened only to be read");
    }
    co_return co_await submit<T>(
        *writer_,
        [function, ... arguments = std::move(arguments)](
            const Transaction& transaction) -> std::expected<T, Error> {
          if constexpr (std::is_void_v<Result>) {
            function(transaction, arguments...);
            return {};
          } else {
            return function(transaction, arguments...);
          }
        },
        priority);
  }

  // In this order: what is made last goes first, and the writer closes the file.
  std::optional<Owners> owners_;
  std::optional<Writer> writer_{};  // Absent: opened only to be read.
  Readers readers_;
  Readers browsers_;
};

}  // namespace treaty::store::sqlite
