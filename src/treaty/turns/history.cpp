#include "treaty/turns/history.h"

#include <algorithm>
#include <ranges>

#include "treaty/base/try.h"
#include "treaty/turns/prompt.h"
#include "treaty/turns/step.h"
#include "treaty/turns/transcript.h"

namespace treaty::turns {
namespace {

using backends::AssistantMessage;
using backends::Message;
using backends::ToolMessage;

// What every session costs beside its turns: an entry, its index, the history.
constexpr std::size_t kEntryBytes = 512;

std::size_t bytes_of(const History& history) { return history.memory() + kEntryBytes; }

std::string_view name_of_call(const AssistantMessage& said, std::string_view id) {
  const auto call = std::ranges::find(said.tool_calls, id, &contracts::AgentToolCall::id);
  return call == said.tool_calls.end() ? std::string_view() : std::string_view(call->name);
}

}  // namespace

void add_results(std::vector<Message>& messages, const contracts::ToolContinuation& continuation) {
  std::vector<ToolMessage> results;
  while (!messages.empty() && std::holds_alternative<ToolMessage>(messages.back())) {
    results.push_back(std::get<ToolMessage>(std::move(messages.back())));
    messages.pop_back();
  }
  if (messages.empty() || !std::holds_alternative<AssistantMessage>(messages.back())) return;
  const auto& said = std::get<AssistantMessage>(messages.back());
  for (const auto& result : continuation.tool_results) {
    results.push_back(tool_message(result, name_of_call(said, result.tool_call_id)));
  }
  for (auto& result : in_order_of_calls(said, std::move(results))) {
    messages.emplace_back(std::move(result));
  }
}

std::expected<TurnMessages, Error> messages_of(std::span<const store::Round> rounds,
                                               std::vector<std::string>* warnings) {
  TurnMessages turn;
  std::vector<Message>& messages = turn.messages;
  for (const store::Round& round : rounds) {
    // The canonical form may be longer than the request was.
    const auto request = contracts::decode_agent_execute_request(
        round.request.body, {.profile = contracts::Profile::strict,
                             .max_size = round.request.body.size() + 1,
                             .ids_optional = true});
    if (!request) {
      return fail(ErrorCode::corrupt, "a journalled request cannot be read");
    }
    if (const auto* user = std::get_if<contracts::UserTurn>(&request->scenario)) {
      UserPrompt prompt = user_prompt(*user);
      messages.emplace_back(std::move(prompt.message));
      if (warnings != nullptr) std::ranges::move(prompt.warnings, std::back_inserter(*warnings));
    } else {
      add_results(messages, std::get<contracts::ToolContinuation>(request->scenario));
    }
    if (!round.answer || round.answer->transcript.empty()) continue;
    TREATY_TRY(auto transcript, decode_transcript(round.answer->transcript));
    drop_thoughts_of(transcript.refused, messages);
    turn.refused.merge(transcript.refused);
    std::ranges::move(transcript.messages, std::back_inserter(messages));
  }
  return turn;
}

void drop_thoughts_of(const Authors& authors, std::vector<Message>& messages) {
  for (const std::string& author : authors) drop_thoughts_of(author, messages);
}

bool drop_thoughts_of(std::string_view author, std::vector<Message>& messages) {
  bool had_any = false;
  for (Message& message : messages) {
    auto* said = std::get_if<AssistantMessage>(&message);
    if (said == nullptr || said->thoughts.parts.empty() || said->thoughts.author != author) {
      continue;
    }
    said->thoughts = {};
    had_any = true;
  }
  return had_any;
}

std::shared_ptr<const PastTurn> past_turn(std::vector<Message> messages) {
  for (Message& message : messages) {
    auto* said = std::get_if<AssistantMessage>(&message);
    if (said != nullptr && !said->thoughts.lasting) said->thoughts = {};
  }
  auto turn = std::make_shared<PastTurn>();
  turn->tokens = estimated_tokens(messages);
  turn->memory = sizeof(PastTurn);
  for (const Message& message : messages) {
    turn->bytes += backends::text_bytes(message);
    turn->memory += backends::memory_of(message);
  }
  turn->messages = std::move(messages);
  return turn;
}

namespace {

std::shared_ptr<const PastTurn> without_thoughts(const std::shared_ptr<const PastTurn>& turn,
                                                 std::string_view author) {
  std::vector<Message> messages = turn->messages;
  return drop_thoughts_of(author, messages) ? past_turn(std::move(messages)) : turn;
}

}  // namespace

const PastTurn& History::operator[](std::size_t place) const {
  place += dropped_;
  const std::size_t block = place / kBlock;
  return block < blocks_.size() ? *(*blocks_[block])[place % kBlock]
                                : *recent_[place - blocks_.size() * kBlock];
}

void History::append(std::shared_ptr<const PastTurn> turn, std::size_t most_tokens) {
  most_tokens_ = most_tokens;
  tokens_ += turn->tokens;
  memory_ += turn->memory;
  recent_.push_back(std::move(turn));
  while (tokens_ > most_tokens_ && size() > 1) drop_oldest();
  if (recent_.size() < kBlock) return;
  blocks_.push_back(std::make_shared<const Block>(std::move(recent_)));
  recent_.clear();
}

History History::without_thoughts_of(std::string_view author) const {
  History history;
  history.has_more_ = has_more_;
  history.until = until;
  for (const auto& block : blocks_) {
    for (std::size_t i = block == blocks_.front() ? dropped_ : 0; i < block->size(); ++i) {
      history.append(without_thoughts((*block)[i], author), most_tokens_);
    }
  }
  for (const Turn& turn : recent_) history.append(without_thoughts(turn, author), most_tokens_);
  return history;
}

// A block goes as a whole: others may share it.
void History::drop_oldest() {
  tokens_ -= (*this)[0].tokens;
  has_more_ = true;
  if (blocks_.empty()) {
    memory_ -= recent_.front()->memory;
    recent_.erase(recent_.begin());
    return;
  }
  if (++dropped_ < kBlock) return;
  for (const Turn& turn : *blocks_.front()) memory_ -= turn->memory;
  blocks_.erase(blocks_.begin());
  dropped_ = 0;
}

bool HistoryReading::add(std::shared_ptr<const PastTurn> turn) {
  is_full_ = is_full_ || (!turns_.empty() && tokens_ + turn->tokens > most_tokens_);
  if (is_full_) return false;
  tokens_ += turn->tokens;
  turns_.push_back(std::move(turn));
  return true;
}

History HistoryReading::history() const {
  History history;
  for (const auto& turn : turns_ | std::views::reverse) history.append(turn, most_tokens_);
  history.has_more_ = is_full_;
  return history;
}

std::shared_ptr<const History> HistoryCache::find(std::int64_t session, std::int64_t until,
                                                  std::size_t most_tokens) {
  const MutexLock lock(mutex_);
  const auto found = by_session_.find(session);
  if (found == by_session_.end()) return nullptr;
  const auto& history = found->second->history;
  if (history->until != until || !history->reaches(most_tokens)) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->history;
}

void HistoryCache::drop(std::list<Entry>::iterator entry) {
  bytes_ -= bytes_of(*entry->history);
  by_session_.erase(entry->session);
  entries_.erase(entry);
}

void HistoryCache::put(std::int64_t session, std::shared_ptr<const History> history) {
  const MutexLock lock(mutex_);
  if (const auto found = by_session_.find(session); found != by_session_.end()) drop(found->second);
  const std::size_t bytes = bytes_of(*history);
  if (bytes > most_bytes_) return;
  while (bytes_ + bytes > most_bytes_) drop(std::prev(entries_.end()));
  bytes_ += bytes;
  entries_.push_front({session, std::move(history)});
  by_session_[session] = entries_.begin();
}

std::size_t HistoryCache::bytes() const {
  const MutexLock lock(mutex_);
  return bytes_;
}

}  // namespace treaty::turns
