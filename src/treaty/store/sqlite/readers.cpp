#include "treaty/store/sqlite/readers.h"

namespace treaty::store::sqlite {
namespace {

constexpr std::size_t kMostWaiting = 10'000;

}  // namespace

Readers::Readers(std::string path, std::size_t threads)
    : path_(std::move(path)), queue_(kMostWaiting) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

Readers::~Readers() {
  queue_.close();
  for (std::thread& thread : threads_) thread.join();
}

void Readers::work() {
  // Opened again after a failure. While a connection is open, the files beside the database stay.
  std::optional<Database> database;
  if (auto opened = Database::open(path_, Access::read)) database = std::move(*opened);
  while (true) {
    auto taken = queue_.take(1);
    if (taken.empty()) return;
    read(database, *taken.front());
    complete(std::move(taken));
  }
}

void Readers::read(std::optional<Database>& database, Operation<Context>& operation) const {
  if (!database) {
    auto opened = Database::open(path_, Access::read);
    if (!opened) {
      operation.fail(error_of(opened.error(), path_));
      return;
    }
    database = std::move(*opened);
  }
  Statement(*database, "BEGIN").run();
  operation.run(*database);
  Statement(*database, "COMMIT").run();
  const auto failure = database->take_failure();
  if (!failure) return;
  operation.fail(error_of(*failure, path_));
  database.reset();
}

}  // namespace treaty::store::sqlite
