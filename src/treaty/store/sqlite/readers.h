// Threads that read, each over a connection of its own. A read sees one state of the store.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "treaty/store/queue.h"
#include "treaty/store/sqlite/database.h"

namespace treaty::store::sqlite {

class Readers {
 public:
  using Context = Database;
  using Item = OperationQueue<Context>::Item;

  Readers(std::string path, std::size_t threads);
  ~Readers();  // Does what still waits, then leaves.
  Readers(const Readers&) = delete;
  Readers& operator=(const Readers&) = delete;

  void add(Item item) { queue_.add(std::move(item)); }

 private:
  void work();
  void read(std::optional<Database>& database, Operation<Context>& operation) const;

  const std::string path_;
  OperationQueue<Context> queue_;
  std::vector<std::thread> threads_;
};

}  // namespace treaty::store::sqlite
