#include "treaty/turns/turn_run.h"

#include <fmt/format.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <optional>

#include "treaty/base/json_write.h"
#include "treaty/base/try.h"
#include "treaty/turns/engine.h"
#include "treaty/turns/prompt.h"

namespace treaty::turns {
namespace {

namespace asio = boost::asio;
using backends::Message;
using contracts::AgentResult;
using contracts::ToolContinuation;
using contracts::UserTurn;
using store::TurnState;

// More deltas than an answer can have: after a crash nobody knows how many had left, and what
// follows must have an id above theirs.
constexpr std::int64_t kUnknownDeltas = std::int64_t{1} << 24U;

using dispatch::kAnswerTokens;

// Of the journal that are read at once for a history; a larger turn is read as a whole.
constexpr std::size_t kPageBytes = std::size_t{1} << 20U;

// Of the thoughts of one round.
constexpr std::size_t kMostThoughtBytes = std::size_t{8} << 20U;
constexpr std::string_view kTooManyThoughts = "the thoughts of this round have more than 8 MiB";

// Ids of turns are never given out again, unlike those that clients make up.
std::string asker_of(const Begin& begin) {
  const store::Room& room = begin.session.room;
  return fmt::format("{}\n{}\n{}\n{}", room.tenant, room.session_id, begin.turn.turn_id,
                     begin.turn.id);
}

// Between what a model said in two calls of one round.
constexpr std::string_view kParagraph = "\n\n";

// What a model said in all calls of a round so far.
std::string joined(std::string_view before, std::string_view text) {
  std::string out(before);
  if (!before.empty() && !text.empty()) out += kParagraph;
  return out += text;
}

constexpr const char* kPicturesLeftOut =
    "The pictures of this request were left out: the agent that answered cannot take pictures.";

constexpr const char* kContinued =
    "The answer was cut off in the middle, and another model went on with it: look at the place "
    "where they meet.";

}  // namespace

const Renderer& RunServices::renderer_of(std::string_view format) const {
  const auto found = std::ranges::find(renderers, format, &Renderer::format);
  return found == renderers.end() ? *renderers.front() : **found;
}

TurnRun::TurnRun(std::shared_ptr<RunServices> services, Worker& worker,
                 std::shared_ptr<TurnLog> log, RunOrder order)
    : services_(std::move(services)),
      worker_(worker),
      log_(std::move(log)),
      order_(std::move(order)),
      diary_(order_.begin.turn, std::move(order_.begin.earlier_events), order_.begin.diary_after) {}

std::shared_ptr<TurnLog> TurnRun::log() const {
  const MutexLock lock(log_mutex_);
  return log_;
}

asio::awaitable<void> TurnRun::run(std::shared_ptr<TurnRun> self) {
  const auto& begin = self->order_.begin;
  RunningTurns& live = self->services_->live;
  self->log_->open(
      {begin.session.room.session_id, begin.turn.turn_id, begin.turn.mode, begin.turn.round},
      begin.turn.events + 1 + (begin.turn.has_streamed ? kUnknownDeltas : 0));
  live.notify_diary(self->session());
  std::optional<std::string> exception;
  try {
    co_await self->journal(co_await self->conclude());
  } catch (
      const std::exception& error) {  // A bug, or no memory: this turn fails, the server lives.
    exception = error.what();
  }
  if (exception) co_await self->fail_internally(*exception);
  live.remove(*self);
  live.leave(self->order_.key, *self->log_);
  live.notify_diary(self->session());
  self->order_.dispatcher.reset();  // Here: it belongs to this thread, and others may hold the run.
}

void TurnRun::cancel() {
  asio::post(worker_.executor, [self = shared_from_this()] {
    self->stop_ = Stop::cancelled;
    self->stop_signal_.emit(asio::cancellation_type::terminal);
  });
}

// Steps 4 to 6 of the life of a turn (ARCHITECTURE.md).
asio::awaitable<Conclusion> TurnRun::conclude() {
  if (order_.is_unreadable) {
    note("request.unreadable", "{}");
    co_return conclude_refusal({Reason::internal,
                                "the request of this turn cannot be read from the journal; send it "
                                "again as a new turn",
                                order_.begin.turn.turn_id},
                               TurnState::failed, false);
  }
  if (order_.begin.turn.has_streamed) co_return conclude_failure(interrupted());
  if (order_.begin.agent == nullptr) {
    co_return conclude_refusal({Reason::agent_not_found, "the agent of this session is gone"},
                               TurnState::failed, false);
  }
  if (const auto prepared = co_await prepare(); !prepared) {
    co_return conclude_refusal(
        {Reason::store_unavailable, "the journal cannot be read now; send the same request again"},
        TurnState::failed, true);
  }
  const Agent& agent = *order_.begin.agent;
  deadline_ =
      order_.dispatcher->pools().now() + std::chrono::duration<double>(agent.deadline).count();
  asio::steady_timer deadline(worker_.executor, agent.deadline);
  deadline.async_wait([self = shared_from_this()](const boost::system::error_code& cancelled) {
    if (cancelled) return;
    self->stop_ = Stop::deadline;
    self->stop_signal_.emit(asio::cancellation_type::terminal);
  });
  while (true) {
    if (const Stop stop = stop_; stop != Stop::none) co_return stopped(stop);
    dispatch::Dispatched call = co_await ask_backend();
    if (!call.refused_author.empty()) forget_thoughts_of(call.refused_author);
    if (!unsealed_.empty()) co_await stream_large();
    totals_.add(call.result);
    said_bytes_ += text_bytes(call.result);
    result_ = std::move(call.result);
    const AgentResult& result = result_;
    if (const Stop stop = stop_; stop != Stop::none && result.error) co_return stopped(stop);
    Stepped stepped =
        next_step(*order_.begin.role, agent.max_rounds, std::move(transcript_.progress), result);
    transcript_.progress = std::move(stepped.progress);
    transcript_.progress.was_continued |= call.was_continued;
    const bool is_last = std::holds_alternative<Finish>(stepped.step);
    if (!is_last || call.thoughts.lasting) {
      stepped.said.thoughts = kept_thoughts(std::move(call.thoughts));
    }
    for (const StepNote& made : stepped.notes) note(made.kind, made.data);
    if (const auto* fail = std::get_if<Fail>(&stepped.step)) {
      co_return conclude_failure(fail->error, result.rate_limit, std::move(call.limits));
    }
    transcript_.messages.emplace_back(std::move(stepped.said));
    if (auto* finish = std::get_if<Finish>(&stepped.step)) {
      if (said_bytes_ <= kManyBytes) co_return finished(std::move(*finish));
      co_return co_await worker_.beside_the_loop(said_bytes_,
                                                 [&] { return finished(std::move(*finish)); });
    }
    auto* ask = std::get_if<AskClient>(&stepped.step);
    auto& results = ask != nullptr ? ask->known : std::get<AskAgain>(stepped.step).results;
    for (auto& known : results) transcript_.messages.emplace_back(std::move(known));
    if (ask != nullptr) co_return asking(std::move(*ask));
    begin_next_call(std::get<AskAgain>(stepped.step).text);
    if (!unsealed_.empty()) co_await stream_large();
  }
}

// Nothing when the round has more of them than the journal should hold.
backends::Thoughts TurnRun::kept_thoughts(backends::Thoughts thoughts) {
  std::size_t bytes = 0;
  for (const results::Thought& thought : thoughts.parts) bytes += thought.json.size();
  thought_bytes_ += bytes;
  if (thought_bytes_ > kMostThoughtBytes && asked_ != nullptr) {
    on_thoughts_dropped(*asked_, {dispatch::DispatchRule::thoughts, kTooManyThoughts});
    return {};
  }
  said_bytes_ += bytes;
  return thoughts;
}

// So that the next requests of this turn and of the session are not refused for them again. Calls
// that still run share what is replaced here.
void TurnRun::forget_thoughts_of(std::string_view author) {
  transcript_.refused.emplace(author);
  drop_thoughts_of(author, transcript_.messages);
  auto earlier = std::make_shared<std::vector<Message>>(*earlier_rounds_);
  if (drop_thoughts_of(author, *earlier)) earlier_rounds_ = std::move(earlier);
  forget_thoughts_in_history(author);
}

void TurnRun::forget_thoughts_in_history(std::string_view author) {
  history_ = std::make_shared<History>(history_->without_thoughts_of(author));
}

// The model is asked again in the same round. What it said so far has been streamed, so it belongs
// to the answer.
void TurnRun::begin_next_call(std::string_view said) {
  if (!has_spoken_) on_text(said);
  said_ = joined(said_, said);
  has_spoken_ = false;
}

Conclusion TurnRun::finished(Finish finish) {
  if (!said_.empty()) finish.text = joined(said_, finish.text);
  std::vector<std::string> warnings = prompt_warnings_;
  if (left_out_pictures_) warnings.emplace_back(kPicturesLeftOut);
  if (transcript_.progress.was_continued) warnings.emplace_back(kContinued);
  Conclusion conclusion = conclude_finish(finish, transcript_.progress, std::move(warnings));
  stream_rest(std::get<contracts::FinalResponse>(conclusion.answer).primary_output_text);
  return conclusion;
}

Conclusion TurnRun::asking(AskClient ask) {
  ask.text = joined(said_, ask.text);
  Conclusion conclusion = conclude_asking(ask);
  // The message may be shorter than what was streamed.
  auto message =
      std::get<contracts::ClientToolContinuation>(conclusion.answer).tool_continuation_message;
  if (message) stream_rest(*message);
  return conclusion;
}

Conclusion TurnRun::stopped(Stop stop) const {
  if (stop == Stop::cancelled) {
    return conclude_refusal({Reason::turn_cancelled,
                             "the turn was cancelled; the session goes on with the turn before it",
                             order_.begin.turn.turn_id},
                            TurnState::cancelled, false);
  }
  return conclude_failure({.message = "the turn did not end within its deadline",
                           .code = "timeout",
                           .type = "Deadline",
                           .retryable = true});
}

// Step 4: everything that the model is told.
asio::awaitable<std::expected<void, Error>> TurnRun::prepare() {
  if (order_.begin.turn.round > 0) {
    TREATY_CO_TRY(auto record, co_await services_->store.find_turn(order_.begin.session.room,
                                                                   order_.begin.turn.turn_id));
    if (!record) co_return fail(ErrorCode::conflict, "the turn is gone");
    const auto rounds = std::span<const store::Round>(record->rounds)
                            .first(static_cast<std::size_t>(order_.begin.turn.round));
    std::size_t bytes = 0;
    for (const store::Round& round : rounds) bytes += round.request.body.size();
    auto earlier = co_await worker_.beside_the_loop(
        bytes, [&] { return messages_of(rounds, &prompt_warnings_); });
    if (!earlier) co_return std::unexpected(earlier.error());
    *earlier_rounds_ = std::move(earlier->messages);
    refused_earlier_ = std::move(earlier->refused);
    if (rounds.back().answer && !rounds.back().answer->transcript.empty()) {
      auto transcript = decode_transcript(rounds.back().answer->transcript);
      if (transcript) transcript_.progress = std::move(transcript->progress);
    }
    add_results(*earlier_rounds_, std::get<ToolContinuation>(order_.request.scenario));
  } else {
    UserPrompt prompt = co_await worker_.beside_the_loop(
        order_.bytes, [&] { return user_prompt(std::get<UserTurn>(order_.request.scenario)); });
    earlier_rounds_->emplace_back(std::move(prompt.message));
    prompt_warnings_ = std::move(prompt.warnings);
  }
  order_.request.scenario = {};  // It is in the journal and in the messages: one copy is enough.
  TREATY_CO_TRY_VOID(co_await recall());
  co_return std::expected<void, Error>();
}

asio::awaitable<std::expected<void, Error>> TurnRun::recall() {
  const auto& begin = order_.begin;
  if (begin.history_until == 0) {
    history_ = std::make_shared<History>();
    co_return std::expected<void, Error>();
  }
  history_ = services_->histories.find(session(), begin.history_until, context_window());
  if (history_) {
    for (const std::string& author : refused_earlier_) forget_thoughts_in_history(author);
    co_return std::expected<void, Error>();
  }
  HistoryReading reading(context_window());
  Authors refused = refused_earlier_;
  bool goes_on = true;
  for (std::int64_t before = begin.turn.number; goes_on;) {
    TREATY_CO_TRY(const auto page,
                  co_await services_->store.history(session(), before, kPageBytes));
    goes_on = page.more && !page.turns.empty();
    for (const store::TurnRecord& record : page.turns) {
      before = record.turn.number;
      TREATY_CO_TRY(auto past, messages_of(record.rounds));
      drop_thoughts_of(refused, past.messages);
      refused.merge(past.refused);
      if (reading.add(past_turn(std::move(past.messages)))) continue;
      goes_on = false;
      break;
    }
  }
  auto history = std::make_shared<History>(reading.history());
  history->until = begin.history_until;
  history_ = std::move(history);
  co_return std::expected<void, Error>();
}

std::size_t TurnRun::context_window() const {
  return static_cast<std::size_t>(
      std::max<std::int64_t>(order_.begin.agent->chain.front().context_window, 0));
}

// What the model gets: as much of the history as fits beside what this turn itself says.
backends::Call TurnRun::make_call() {
  backends::Call call{
      .model = {},
      .system = system_text(*order_.begin.role, order_.begin.session.solution_context),
      .tools = declarations_of(*order_.begin.role),
      .stream = order_.streams,
      .shows_thinking = order_.begin.agent->show_thinking,
      .conversation = fmt::format("{}\n{}", order_.begin.session.room.tenant,
                                  order_.begin.session.room.session_id),
      .asker = asker_of(order_.begin),
      .origin = {.session = order_.begin.session.id, .round = order_.begin.turn.round}};
  const auto& choice = order_.begin.agent->chain.front();
  const std::size_t taken =
      static_cast<std::size_t>(choice.max_output_tokens.value_or(kAnswerTokens)) +
      estimated_tokens(*earlier_rounds_) + estimated_tokens(transcript_.messages) +
      call.system.size() / 4;
  std::size_t first = 0;
  std::size_t tokens = history_->tokens();  // Of the turns that are kept.
  while (tokens + taken > context_window() && first < history_->size()) {
    tokens -= (*history_)[first++].tokens;
  }
  if (first > 0 || history_->has_more()) {
    json::Writer data;
    data.begin_object().member("TurnsKept", history_->size() - first);
    data.member("TurnsDropped", first).member("OlderDropped", history_->has_more());
    data.member("EstimatedTokensKept", tokens).member("ContextWindow", choice.context_window);
    note("history.dropped", data.end_object().take());
  }
  for (; first < history_->size(); ++first) {
    const PastTurn& turn = (*history_)[first];
    call.messages.share(turn.messages, turn.bytes, history_);
  }
  std::size_t bytes = 0;
  for (const Message& message : *earlier_rounds_) bytes += backends::text_bytes(message);
  call.messages.share(*earlier_rounds_, bytes, earlier_rounds_);
  for (const Message& message : transcript_.messages) call.messages.push_back(message);
  return call;
}

// Step 5.
asio::awaitable<dispatch::Dispatched> TurnRun::ask_backend() {
  co_return co_await asio::co_spawn(
      worker_.executor,
      order_.dispatcher->run({.chain = order_.begin.agent->chain,
                              .deadline = deadline_,
                              .continues_cuts = order_.begin.agent->on_cut == OnCut::go_on,
                              .budgets = budgets()},
                             make_call(), static_cast<backends::Sink&>(*this),
                             static_cast<dispatch::Observer&>(*this)),
      asio::bind_cancellation_slot(stop_signal_.slot(), asio::use_awaitable));
}

// Those that a call of this turn is paid from.
std::vector<store::BudgetLimit> TurnRun::budgets() const {
  std::vector<store::BudgetLimit> limits;
  const auto add = [&](std::string scope, const dispatch::Budget& budget) {
    if (!budget.is_empty()) {
      limits.push_back({std::move(scope), budget.tokens, budget.picodollars});
    }
  };
  const Agent& agent = *order_.begin.agent;
  if (!agent.budget.is_empty()) add(dispatch::scope_of("agent", agent.name), agent.budget);
  const auto& tenants = order_.settings->tenant_budgets;
  const std::string& tenant = order_.begin.session.room.tenant;
  if (const auto own = tenants.find(tenant); own != tenants.end()) {
    add(dispatch::scope_of("tenant", tenant), own->second);
  }
  return limits;
}

// What leaves is sealed: the deltas are at any time the beginning of the answer that will follow.
void TurnRun::on_text(std::string_view delta) {
  if (!thinking_.empty()) show_thinking(true);
  if (!order_.streams || delta.empty()) return;
  std::string sealed;
  if (!has_spoken_ && !said_.empty()) sealed = sealer_.feed(kParagraph);
  has_spoken_ = true;
  if (!unsealed_.empty() || delta.size() > kManyBytes) {
    unsealed_ += delta;
  } else {
    sealed += sealer_.feed(delta);
  }
  if (!sealed.empty()) stream(sealed);
}

bool TurnRun::has_streamed_text() const { return log_->result_event() > log_->first_event() + 1; }

// The seal may hold back all that a model has said: JSON, or white space at the beginning.
bool TurnRun::take_back() {
  if (has_streamed_text() || !said_.empty()) return false;
  sealer_ = Sealer();
  unsealed_ = {};
  has_spoken_ = false;
  return true;
}

// What is too much to be sealed on the event loop.
asio::awaitable<void> TurnRun::stream_large() {
  const std::string sealed =
      co_await worker_.beside_the_loop(unsealed_.size(), [&] { return sealer_.feed(unsealed_); });
  unsealed_ = {};
  if (!sealed.empty()) stream(sealed);
}

void TurnRun::stream(std::string_view text) {
  const bool is_first = !has_streamed_text();
  log_->add(text);
  if (is_first) {
    asio::co_spawn(worker_.executor, mark_streamed(shared_from_this()), asio::detached);
  }
}

// What was held back, or was never given to the sink, so that the deltas are the whole answer. It
// is shown together with the answer, or after the deltas before it. Should a backend have streamed
// another text than it answered, the streamed one is the answer: it cannot be taken back.
void TurnRun::stream_rest(std::string& answer) {
  if (!order_.streams) return;
  const std::string streamed = log_->text();
  if (!answer.starts_with(streamed)) answer = streamed + sealer_.finish().text;
  if (answer.size() > streamed.size()) {
    log_->add(std::string_view(answer).substr(streamed.size()));
  }
}

// After a crash it is known that deltas may have left: they leave only when that is on the disk,
// and with it what failed attempts have cost. Of a first attempt there is nothing to tell yet.
asio::awaitable<void> TurnRun::mark_streamed(std::shared_ptr<TurnRun> self) {
  std::string events = self->attempts_ > 1 ? self->diary_.take_lines() : std::string();
  const auto marked =
      co_await self->services_->store.mark_streamed(self->turn(), std::move(events));
  if (marked) {
    self->log_->show_deltas();
  } else {
    self->diary_.give_back_lines();
  }
}

}  // namespace treaty::turns
