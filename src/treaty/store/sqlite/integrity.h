// Whether the file still is what SQLite wrote: asked after a process has ended without a goodbye.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "treaty/store/sqlite/database.h"

namespace treaty::store::sqlite {

// The first thing that is wrong with the file, or nothing. Reads all of it: some 0.3 s a GB when it
// is in memory. Ends early when `stop` becomes true.
std::optional<Error> find_damage(Database& database, const std::string& path,
                                 const std::atomic<bool>& stop);

// The same on a thread of its own, for files that take long.
class BackgroundCheck {
 public:
  BackgroundCheck(std::string path, std::function<void(const Error&)> on_damage);
  ~BackgroundCheck();
  BackgroundCheck(const BackgroundCheck&) = delete;
  BackgroundCheck& operator=(const BackgroundCheck&) = delete;

 private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace treaty::store::sqlite
