// What was said in a session before a turn: from the journal, or from memory while it is fresh.
#pragma once

#include <cstdint>
#include <expected>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "treaty/backends/call.h"
#include "treaty/base/error.h"
#include "treaty/base/mutex.h"
#include "treaty/contracts/agent_execute_request.h"
#include "treaty/store/records.h"
#include "treaty/turns/transcript.h"

namespace treaty::turns {

struct TurnMessages {
  std::vector<backends::Message> messages{};
  Authors refused{};  // They have refused their thoughts of this turn and of earlier ones.
};

// The messages of a turn's rounds: the request, what model and tools said, results that clients
// submitted, in the order in which the model gets them; without thoughts that a later round found
// to be refused. `warnings`, if it is not null, gets those of user_prompt().
std::expected<TurnMessages, Error> messages_of(std::span<const store::Round> rounds,
                                               std::vector<std::string>* warnings = nullptr);

// Puts results that a client submitted where the model expects them: behind the last message with
// calls, together with those that are known already, in the order of the calls.
void add_results(std::vector<backends::Message>& messages,
                 const contracts::ToolContinuation& continuation);

// Removes the thoughts of that author, who has refused them. False: there were none.
bool drop_thoughts_of(std::string_view author, std::vector<backends::Message>& messages);
void drop_thoughts_of(const Authors& authors, std::vector<backends::Message>& messages);

// One turn that has completed.
struct PastTurn {
  std::vector<backends::Message> messages{};
  std::size_t tokens = 0;  // What it takes of a model's context: an estimate.
  std::size_t bytes = 0;   // Of text.
  std::size_t memory = 0;  // Bytes, pictures included.
};
std::shared_ptr<const PastTurn> past_turn(std::vector<backends::Message> messages);

// The newest turns of a session that fit into a number of tokens, oldest first; the newest one is
// there even if it does not fit. A copy shares the turns with its original. All but the newest are
// in blocks, so that a copy of a long history costs little more than one of a short one.
class History {
 public:
  std::size_t size() const { return blocks_.size() * kBlock - dropped_ + recent_.size(); }
  const PastTurn& operator[](std::size_t place) const;

  std::size_t tokens() const { return tokens_; }

  // Bytes that this history keeps in memory, also of turns that share a block with those it has.
  std::size_t memory() const { return memory_; }

  // Older turns were left out.
  bool has_more() const { return has_more_; }

  // Whether it has all turns that fit into so many tokens.
  bool reaches(std::size_t most_tokens) const { return !has_more_ || most_tokens_ >= most_tokens; }

  // The next turn. The oldest ones are dropped until the others fit into `most_tokens`, which this
  // history reaches.
  void append(std::shared_ptr<const PastTurn> turn, std::size_t most_tokens);

  // The same turns without the thoughts of that author.
  History without_thoughts_of(std::string_view author) const;

  // Dead turns are never appended, so this is set on its own.
  std::int64_t until = 0;  // The number of its newest turn; 0: none.

 private:
  static constexpr std::size_t kBlock = 32;
  using Turn = std::shared_ptr<const PastTurn>;
  using Block = std::vector<Turn>;  // kBlock of them.

  friend class HistoryReading;
  void drop_oldest();

  std::size_t most_tokens_ = 0;  // That it was last cut to.
  std::vector<std::shared_ptr<const Block>> blocks_{};
  std::size_t dropped_ = 0;  // Of the first block.
  std::vector<Turn> recent_{};
  std::size_t tokens_ = 0;
  std::size_t memory_ = 0;
  bool has_more_ = false;
};

// A history that is read backwards. It is the same that append() makes of all turns of a session.
class HistoryReading {
 public:
  explicit HistoryReading(std::size_t most_tokens) : most_tokens_(most_tokens) {}

  // The turn before those that were added. False: neither it nor any older one fits.
  bool add(std::shared_ptr<const PastTurn> turn);

  History history() const;

 private:
  std::size_t most_tokens_;
  std::size_t tokens_ = 0;
  bool is_full_ = false;
  std::vector<std::shared_ptr<const PastTurn>> turns_{};  // Newest first.
};

// The most recently used histories, so that a session that goes on is not read again. For any
// thread.
class HistoryCache {
 public:
  explicit HistoryCache(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  // Null unless it is known up to exactly that turn, and as far back as `most_tokens` go.
  std::shared_ptr<const History> find(std::int64_t session, std::int64_t until,
                                      std::size_t most_tokens);

  // Drops the least recently used ones until all fit. One that does not fit alone is not kept.
  void put(std::int64_t session, std::shared_ptr<const History> history);

  std::size_t bytes() const;

 private:
  struct Entry {
    std::int64_t session;
    std::shared_ptr<const History> history;
  };

  void drop(std::list<Entry>::iterator entry) TREATY_REQUIRES(mutex_);

  const std::size_t most_bytes_;
  mutable Mutex mutex_;
  std::list<Entry> entries_ TREATY_GUARDED_BY(mutex_){};  // The most recently used first.
  std::unordered_map<std::int64_t, std::list<Entry>::iterator> by_session_
      TREATY_GUARDED_BY(mutex_){};
  std::size_t bytes_ TREATY_GUARDED_BY(mutex_) = 0;
};

}  // namespace treaty::turns
