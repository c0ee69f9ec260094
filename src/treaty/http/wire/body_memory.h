// Memory for the bodies of requests: counted over all connections, so that many of them together
// stay within one limit.
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

namespace treaty::http {

// A body that has not grown beyond this is not counted: small requests cost nothing and always find
// room, and the number of connections bounds them.
inline constexpr std::size_t kUncountedBody = std::size_t{64} << 10U;

// For any thread.
class BodyMemory {
 public:
  bool has_room(std::size_t bytes, std::size_t limit) const {
    return fits(used_.load(std::memory_order_relaxed), bytes, limit);
  }

  // False, and nothing is taken, when it would be more than `limit`.
  bool take(std::size_t bytes, std::size_t limit) {
    std::size_t used = used_.load(std::memory_order_relaxed);
    do {
      if (!fits(used, bytes, limit)) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return true;
  }

  void give_back(std::size_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  std::size_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  static bool fits(std::size_t used, std::size_t bytes, std::size_t limit) {
    return used <= limit && bytes <= limit - used;
  }

  std::atomic<std::size_t> used_ = 0;
};

// What one body has of a BodyMemory, which outlives it; given back at its end.
class BodyShare {
 public:
  BodyShare() = default;
  BodyShare(BodyMemory* memory, std::size_t limit) : memory_(memory), limit_(limit) {}
  BodyShare(BodyShare&& other) noexcept
      : memory_(other.memory_), limit_(other.limit_), bytes_(std::exchange(other.bytes_, 0)) {}
  BodyShare& operator=(BodyShare&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(limit_, other.limit_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~BodyShare() {
    if (bytes_ > 0) memory_->give_back(bytes_);
  }

  // Whether a body of `bytes` could be had as things are now. Without a memory every body can.
  bool has_room(std::size_t bytes) const {
    return memory_ == nullptr || bytes <= kUncountedBody || bytes <= bytes_ ||
           memory_->has_room(bytes - bytes_, limit_);
  }

  // False when there is no room for a body of `bytes`; the share stays as it was.
  bool grow_to(std::size_t bytes) {
    if (memory_ == nullptr || bytes <= kUncountedBody || bytes <= bytes_) return true;
    if (!memory_->take(bytes - bytes_, limit_)) return false;
    bytes_ = bytes;
    return true;
  }

 private:
  BodyMemory* memory_ = nullptr;
  std::size_t limit_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace treaty::http
