#include "treaty/bridge/half_written.h"

#include <chrono>
#include <thread>

#include "treaty/base/timestamp.h"

namespace treaty::bridge {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{3};
constexpr std::chrono::milliseconds kBetweenLooks{20};

}  // namespace

bool is_being_written_now(const ResponseFile& file) {
  return is_being_written(file, seconds_of_timestamp(timestamp_now()).value_or(0));
}

ResponseFile await_response(const std::string& path,
                            const std::optional<contracts::BridgeRequest>& request,
                            const std::function<void()>& on_wait) {
  const auto end = steady_clock::now() + kPatience;
  ResponseFile file = read_response(path, request);
  if (on_wait && is_being_written_now(file)) on_wait();
  while (is_being_written_now(file) && steady_clock::now() < end) {
    std::this_thread::sleep_for(kBetweenLooks);
    file = read_response(path, request);
  }
  return file;
}

}  // namespace treaty::bridge
