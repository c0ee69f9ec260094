// What was said in a session before a turn: from the journal, or from memory while it is fresh.
#pragma once

#include <cstdint>
#include <expected>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "treaty/backends/call.h"
#include "treaty/base/error.h"
#include "treaty/contracts/agent_execute_request.h"
#include "treaty/store/records.h"

namespace treaty::turns {

// The messages of a turn's rounds: the request, what model and tools said, results that clients
// submitted, in the order in which the model gets them.
std::expected<std::vector<backends::Message>, Error> messages_of(
    std::span<const store::Round> rounds);

// Puts results that a client submitted where the model expects them: behind the last message with
// calls, together with those that are known already, in the order of the calls.
void add_results(std::vector<backends::Message>& messages,
                 const contracts::ToolContinuation& continuation);

// One turn that has completed.
struct PastTurn {
  std::vector<backends::Message> messages{};
  std::size_t tokens = 0;  // An estimate.
};

struct History {
  std::int64_t until = 0;  // The number of its newest turn; 0: there is none.
  std::vector<std::shared_ptr<const PastTurn>> turns{};  // Oldest first.
  std::size_t tokens = 0;
  bool has_more = false;  // Older turns were left out.
};

// With one more turn, and without the oldest ones that do not fit into `tokens` any more.
History extended(const History& history, std::int64_t number, std::shared_ptr<const PastTurn> turn,
                 std::size_t tokens);

// The newest histories, so that a session that goes on is not read again. For any thread.
class HistoryCache {
 public:
  explicit HistoryCache(std::size_t most_tokens) : most_tokens_(most_tokens) {}

  // Null unless it is known up to exactly that turn.
  std::shared_ptr<const History> find(std::int64_t session, std::int64_t until);

  void put(std::int64_t session, std::shared_ptr<const History> history);

 private:
  struct Entry {
    std::int64_t session;
    std::shared_ptr<const History> history;
  };

  const std::size_t most_tokens_;
  std::mutex mutex_;
  std::list<Entry> entries_{};  // The most recently used first.
  std::unordered_map<std::int64_t, std::list<Entry>::iterator> by_session_{};
  std::size_t tokens_ = 0;
};

}  // namespace treaty::turns
