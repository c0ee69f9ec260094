// A work pool in a file: its events, a line each. Whoever has the lock of the store reads what
// others have added, decides, and adds a line of its own.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/store/work_pool.h"

namespace treaty::store::directory {

std::string encode(const WorkEvent& event);
std::optional<WorkEvent> decode_work_event(std::string_view line);

class WorkFile {
 public:
  WorkFile(const std::string& store, const std::string& pool);

  std::expected<void, Error> catch_up();

  // All of them or none. After catch_up(), under the same lock.
  std::expected<void, Error> add(std::vector<WorkEvent> events);

  const WorkPool& pool() const { return pool_; }

 private:
  std::string folder_;
  std::string path_;
  std::uint64_t read_ = 0;  // Bytes of the file.
  WorkPool pool_{};
};

}  // namespace treaty::store::directory
