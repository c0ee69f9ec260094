// Signals in files: a folder for each channel, and in it a file for each signal, named so that
// their order is that of their coming and that nobody has to open one to know whom it is for.
//
// Whoever writes holds the lock of the store.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "treaty/base/error.h"
#include "treaty/store/records.h"

namespace treaty::store::directory {

struct SignalFile {
  std::string name{};  // In the store.
  std::string data{};
};

class SignalFolder {
 public:
  explicit SignalFolder(std::string store) : store_(std::move(store)) {}

  // The oldest one on the channel for this execution, or for anyone.
  std::expected<std::optional<SignalFile>, Error> oldest(const std::string& channel,
                                                         const std::string& execution) const;

  // Without an addressee: for anyone.
  std::expected<void, Error> add(const std::string& channel, const std::string& data,
                                 const std::string& addressee, Milliseconds now);

  // Those that are for this execution alone.
  std::expected<void, Error> remove_all_of(const std::string& execution);

 private:
  std::string folder_of(const std::string& channel) const;

  std::string store_;
};

}  // namespace treaty::store::directory
