// The store against a model of it that is a map: whatever is done in whatever order, with crashes
// in between, both say the same.
#include "treaty/store/sqlite/sqlite_store.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "treaty/testing/stores/store_room.h"

namespace treaty::store {
namespace {

using testing::look;
using testing::open_store;
using testing::wait_for;

struct ModelTurn {
  std::int64_t id = 0;
  std::string turn_id{};
  TurnState state = TurnState::accepted;
  bool retryable = false;
  std::vector<std::pair<std::string, std::string>> rounds{};  // Key of the request, answer.
};

struct ModelSession {
  std::vector<ModelTurn> turns{};
  std::string context{};

  const ModelTurn* newest() const {
    const auto found = std::find_if(turns.rbegin(), turns.rend(),
                                    [](const ModelTurn& turn) { return !is_dead(turn.state); });
    return found == turns.rend() ? nullptr : &*found;
  }
};

class StoreRun {
 public:
  StoreRun() : store_(open_store(path())) {}

  // One step, chosen by four numbers, on both sides.
  void step(const std::array<unsigned, 4>& dice) {
    const Room room{"local", "s" + std::to_string(dice[1] % 3)};
    switch (dice[0] % 16) {
      case 0:
      case 1:
      case 2:
      case 3: return begin(room, "t" + std::to_string(dice[2] % 6), dice[3] % 4 == 0);
      case 4:
      case 5:
      case 6:
      case 7:
      case 8:
        return settle(room, dice[2], static_cast<TurnState>(dice[3] % 6), dice[3] / 6 % 2 == 0);
      case 9:
      case 10:
      case 11:
      case 12: return resume(room, dice[2]);
      case 13: return remove(room, dice[2]);
      case 14: return reopen();
      default: return crash();
    }
  }

  void compare() {
    for (const auto& [name, model] : sessions_) compare(name, model);
    const auto listed = wait_for(store_->list_sessions({}));
    RC_ASSERT(listed.has_value());
    RC_ASSERT(listed->size() == sessions_.size());
  }

 private:
  std::string path() const {
    return directory_.path() + "/" + std::to_string(generation_) + "/treaty.db";
  }

  void begin(const Room& room, const std::string& turn_id, bool latches) {
    ModelSession* model = find(room);
    const bool is_free =
        model == nullptr || std::ranges::none_of(model->turns, [&](const ModelTurn& turn) {
          return turn.turn_id == turn_id;
        });
    const std::string key = "key " + std::to_string(++keys_);
    const auto applied = wait_for(store_->transact({.room = room}, [&](const View& view) {
      Change change = testing::new_turn(view, room, turn_id);
      change.request = testing::request_of(key);
      if (latches) change.solution_context = key;
      return change;
    }));
    RC_ASSERT(applied.has_value() == is_free);
    if (!applied) return;
    ModelSession& session = sessions_[room.session_id];
    session.turns.push_back({.id = applied->turn, .turn_id = turn_id, .rounds = {{key, ""}}});
    if (latches) session.context = key;
    RC_ASSERT(applied->number == static_cast<std::int64_t>(session.turns.size()));
  }

  void settle(const Room& room, unsigned which, TurnState state, bool retryable) {
    ModelTurn* turn = pick(room, which);
    if (turn == nullptr) return;
    const bool may = turn->state == TurnState::accepted && state != TurnState::accepted;
    const int round = static_cast<int>(turn->rounds.size()) - 1;
    const std::string body = "answer " + std::to_string(++keys_);
    const auto settled =
        wait_for(store_->settle({.turn = turn->id,
                                 .update = {.state = state, .round = round, .retryable = retryable},
                                 .answer = testing::answer_of(body, round)}));
    RC_ASSERT(settled.has_value() == may);
    if (!settled) return;
    turn->state = state;
    turn->retryable = retryable;
    turn->rounds.back().second = body;
  }

  void resume(const Room& room, unsigned which) {
    ModelTurn* turn = pick(room, which);
    if (turn == nullptr) return;
    const ModelTurn* newest = find(room)->newest();
    const bool waits = turn->state == TurnState::awaiting_tools;
    const bool may_again = turn->state == TurnState::failed && turn->retryable &&
                           (newest == nullptr || newest->id < turn->id);
    Change change{.turn = turn->id};
    const int round = static_cast<int>(turn->rounds.size()) - (waits ? 0 : 1);
    change.update = TurnUpdate{.state = TurnState::accepted, .round = round};
    const std::string key = "key " + std::to_string(++keys_);
    if (waits) change.request = testing::request_of(key, round);
    const auto applied = wait_for(store_->transact({room}, [&](const View&) { return change; }));
    RC_ASSERT(applied.has_value() == (waits || may_again));
    if (!applied) return;
    turn->state = TurnState::accepted;
    turn->retryable = false;
    if (waits) turn->rounds.emplace_back(key, "");
  }

  void remove(const Room& room, unsigned chance) {
    const ModelSession* model = find(room);
    if (chance % 4 != 0 || model == nullptr) return;
    const bool runs = std::ranges::any_of(
        model->turns, [](const ModelTurn& turn) { return turn.state == TurnState::accepted; });
    const auto removed = wait_for(store_->delete_session(room));
    RC_ASSERT(removed.has_value() == !runs);
    if (removed) sessions_.erase(room.session_id);
  }

  void reopen() {
    store_.reset();
    store_ = open_store(path());
    claim();
  }

  // The files as they are at this moment, in another place: what a power cut would leave.
  void crash() {
    const std::filesystem::path before = std::filesystem::path(path()).parent_path();
    ++generation_;
    const std::filesystem::path after = std::filesystem::path(path()).parent_path();
    std::filesystem::create_directory(after);
    for (const char* name : {"treaty.db", "treaty.db-wal"}) {
      std::error_code code;
      std::filesystem::copy_file(before / name, after / name, code);
    }
    store_.reset();
    store_ = open_store(path());
    claim();
  }

  void claim() {
    RC_ASSERT(store_ != nullptr);
    const auto claimed = wait_for(store_->claim_abandoned({}, {}));
    RC_ASSERT(claimed.has_value());
    std::size_t running = 0;
    for (const auto& [name, session] : sessions_) {
      running += static_cast<std::size_t>(std::ranges::count(
          session.turns, TurnState::accepted, [](const ModelTurn& turn) { return turn.state; }));
    }
    RC_ASSERT(claimed->size() == running);
  }

  void compare(const std::string& name, const ModelSession& model) {
    const Room room{"local", name};
    const View view = look(*store_, {.room = room});
    RC_ASSERT(view.session.has_value());
    RC_ASSERT(view.session->turns == static_cast<std::int64_t>(model.turns.size()));
    RC_ASSERT(view.session->solution_context == model.context);
    const ModelTurn* newest = model.newest();
    RC_ASSERT(view.newest.has_value() == (newest != nullptr));
    if (newest != nullptr) RC_ASSERT(view.newest->id == newest->id);
    for (const ModelTurn& turn : model.turns) compare(room, turn);
    const auto turns = wait_for(store_->list_turns(view.session->id, 0, 1'000));
    RC_ASSERT(turns->size() == model.turns.size());
    const auto history = wait_for(store_->history(view.session->id, 1'000, 1'000'000));
    RC_ASSERT(static_cast<long>(history->turns.size()) ==
              std::ranges::count(model.turns, TurnState::completed,
                                 [](const ModelTurn& turn) { return turn.state; }));
  }

  void compare(const Room& room, const ModelTurn& turn) {
    const auto found = wait_for(store_->find_turn(room, turn.turn_id));
    RC_ASSERT(found.has_value());
    RC_ASSERT(found->has_value());
    const TurnRecord& record = **found;
    RC_ASSERT(record.turn.id == turn.id);
    RC_ASSERT(record.turn.state == turn.state);
    RC_ASSERT(record.rounds.size() == turn.rounds.size());
    for (std::size_t i = 0; i < turn.rounds.size(); ++i) {
      const auto& [key, answer] = turn.rounds[i];
      const Round& round = record.rounds[i];
      RC_ASSERT(round.request == testing::request_of(key, static_cast<int>(i)));
      RC_ASSERT((round.answer ? round.answer->body : "") == answer);
      const View view = look(*store_, {.room = room, .key = key});
      RC_ASSERT(view.same_turn.has_value());
      RC_ASSERT(view.same_turn->id == turn.id);
      RC_ASSERT(*view.same == round);
    }
  }

  ModelSession* find(const Room& room) {
    const auto found = sessions_.find(room.session_id);
    return found == sessions_.end() ? nullptr : &found->second;
  }
  ModelTurn* pick(const Room& room, unsigned which) {
    ModelSession* session = find(room);
    return session == nullptr ? nullptr : &session->turns[which % session->turns.size()];
  }

  testing::TemporaryDirectory directory_{testing::quick_place()};
  int generation_ = 0;
  int keys_ = 0;
  std::map<std::string, ModelSession> sessions_{};
  std::unique_ptr<Store> store_;
};

}  // namespace

TEST_CASE("whatever is done in whatever order, the store keeps what a map would keep") {
  CHECK(rc::check([](const std::vector<std::array<unsigned, 4>>& steps) {
    StoreRun run;
    constexpr std::size_t kMost = 25;  // More of them find nothing new, but take long.
    for (std::size_t i = 0; i < std::min(kMost, steps.size()); ++i) run.step(steps[i]);
    run.compare();
  }));
}

}  // namespace treaty::store
