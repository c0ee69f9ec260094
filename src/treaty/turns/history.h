// What was said in a session before a turn: from the journal, or from memory while it is fresh.
#pragma once

#include <cstdint>
#include <expected>
#include <list>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "treaty/backends/call.h"
#include "treaty/base/error.h"
#include "treaty/base/mutex.h"
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
  std::size_t bytes = 0;   // Of text.
};
std::shared_ptr<const PastTurn> past_turn(std::vector<backends::Message> messages);

// The turns of a session, oldest first. A copy shares the turns with its original. All but the
// newest are in blocks, so that a copy of a long history costs little more than one of a short one.
class History {
 public:
  std::size_t size() const { return blocks_.size() * kBlock - dropped_ + recent_.size(); }
  const PastTurn& operator[](std::size_t place) const;

  std::size_t tokens() const { return tokens_; }

  // Dead turns are never appended, so `until` is set on its own.
  void append(std::shared_ptr<const PastTurn> turn);

  // Drops the oldest ones until the others fit.
  void fit_into(std::size_t tokens);

  std::int64_t until = 0;  // The number of its newest turn; 0: none.
  bool has_more = false;   // Older turns were left out.

 private:
  static constexpr std::size_t kBlock = 32;
  using Block = std::vector<PastTurn>;  // kBlock of them.

  void make_block();

  std::vector<std::shared_ptr<const Block>> blocks_{};
  std::size_t dropped_ = 0;  // Of the first block.
  std::vector<std::shared_ptr<const PastTurn>> recent_{};
  std::size_t tokens_ = 0;
};

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

  void drop(std::list<Entry>::iterator entry) TREATY_REQUIRES(mutex_);

  const std::size_t most_tokens_;
  Mutex mutex_;
  std::list<Entry> entries_ TREATY_GUARDED_BY(mutex_){};  // The most recently used first.
  std::unordered_map<std::int64_t, std::list<Entry>::iterator> by_session_
      TREATY_GUARDED_BY(mutex_){};
  std::size_t tokens_ TREATY_GUARDED_BY(mutex_) = 0;
};

}  // namespace treaty::turns
