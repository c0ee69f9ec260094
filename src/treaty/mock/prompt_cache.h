// What Anthropic keeps of prompts: the beginnings that requests mark with `cache_control`, and
// which of them a later request begins with. Of models and of the time that a prompt is kept for,
// nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_set>

namespace treaty::mock {

// In tokens, estimated from the bytes of the request.
struct CachedPart {
  std::int64_t read = 0;
  std::int64_t written = 0;
};

// Keeps digests, the newest ones. Not for use by several threads at once.
class PromptCache {
 public:
  explicit PromptCache(std::size_t capacity = 10'000) : capacity_(capacity) {}

  // What of a request comes from the cache, and what is new in it now. A request that is no JSON,
  // or marks nothing, has neither.
  CachedPart account(std::string_view body);

 private:
  void keep(const std::string& digest);

  std::size_t capacity_;
  std::unordered_set<std::string> kept_{};
  std::deque<std::string> order_{};  // From the oldest to the newest.
};

}  // namespace treaty::mock
