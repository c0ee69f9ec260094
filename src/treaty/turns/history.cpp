#include "treaty/turns/history.h"

#include <algorithm>

#include "treaty/base/try.h"
#include "treaty/turns/prompt.h"
#include "treaty/turns/step.h"
#include "treaty/turns/transcript.h"

namespace treaty::turns {
namespace {

using backends::AssistantMessage;
using backends::Message;
using backends::ToolMessage;

// What every session costs beside its tokens, in tokens.
constexpr std::size_t kOverhead = 384;

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

std::expected<std::vector<Message>, Error> messages_of(std::span<const store::Round> rounds) {
  std::vector<Message> messages;
  for (const store::Round& round : rounds) {
    const auto request = contracts::decode_agent_execute_request(
        round.request.body, {.profile = contracts::Profile::strict, .ids_optional = true});
    if (!request) {
      return fail(ErrorCode::corrupt, "a journalled request cannot be read");
    }
    if (const auto* user = std::get_if<contracts::UserTurn>(&request->scenario)) {
      messages.emplace_back(user_message(*user));
    } else {
      add_results(messages, std::get<contracts::ToolContinuation>(request->scenario));
    }
    if (!round.answer || round.answer->transcript.empty()) continue;
    TREATY_TRY(auto transcript, decode_transcript(round.answer->transcript));
    std::ranges::move(transcript.messages, std::back_inserter(messages));
  }
  return messages;
}

std::shared_ptr<const PastTurn> past_turn(std::vector<Message> messages) {
  auto turn = std::make_shared<PastTurn>();
  turn->tokens = estimated_tokens(messages);
  for (const Message& message : messages) turn->bytes += backends::text_bytes(message);
  turn->messages = std::move(messages);
  return turn;
}

const PastTurn& History::operator[](std::size_t place) const {
  place += dropped_;
  const std::size_t block = place / kBlock;
  return block < blocks_.size() ? (*blocks_[block])[place % kBlock]
                                : *recent_[place - blocks_.size() * kBlock];
}

void History::append(std::shared_ptr<const PastTurn> turn) {
  tokens_ += turn->tokens;
  recent_.push_back(std::move(turn));
  if (recent_.size() == kBlock) make_block();
}

// The turns are copied once: others may still share them one by one.
void History::make_block() {
  auto block = std::make_shared<Block>();
  block->reserve(kBlock);
  for (const auto& turn : recent_) block->push_back(*turn);
  recent_.clear();
  blocks_.push_back(std::move(block));
}

void History::fit_into(std::size_t tokens) {
  while (tokens_ > tokens && size() > 1) {
    tokens_ -= (*this)[0].tokens;
    has_more = true;
    ++dropped_;
    if (!blocks_.empty() && dropped_ == kBlock) {
      blocks_.erase(blocks_.begin());
      dropped_ = 0;
    }
  }
  if (!blocks_.empty()) return;
  recent_.erase(recent_.begin(), recent_.begin() + static_cast<std::ptrdiff_t>(dropped_));
  dropped_ = 0;
}

std::shared_ptr<const History> HistoryCache::find(std::int64_t session, std::int64_t until) {
  const MutexLock lock(mutex_);
  const auto found = by_session_.find(session);
  if (found == by_session_.end() || found->second->history->until != until) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->history;
}

void HistoryCache::drop(std::list<Entry>::iterator entry) {
  tokens_ -= entry->history->tokens() + kOverhead;
  by_session_.erase(entry->session);
  entries_.erase(entry);
}

void HistoryCache::put(std::int64_t session, std::shared_ptr<const History> history) {
  const MutexLock lock(mutex_);
  if (const auto found = by_session_.find(session); found != by_session_.end()) drop(found->second);
  tokens_ += history->tokens() + kOverhead;
  entries_.push_front({session, std::move(history)});
  by_session_[session] = entries_.begin();
  while (tokens_ > most_tokens_ && entries_.size() > 1) drop(std::prev(entries_.end()));
}

}  // namespace treaty::turns
