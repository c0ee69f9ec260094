// Random operations: every store answers the same. The seeds are fixed.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <random>

#include "treaty/testing/stores/store_places.h"

namespace treaty::store {
namespace {

using testing::wait_for;

constexpr int kSequences = 25;
constexpr int kOperations = 120;

std::string text_of(const Session& s) {
  return fmt::format("[{} {}/{} {} {} {} {} {} {} {} {}]", s.id, s.room.tenant, s.room.session_id,
                     s.agent, s.conversation, s.solution_context, s.opening_turn, s.created_at,
                     s.updated_at, s.turns, s.last_turn);
}

std::string text_of(const Turn& t) {
  return fmt::format("({} {} {} {} {} {} {} {} {} {} {} {} {} {} {})", t.id, t.session, t.number,
                     t.turn_id, name_of(t.state), t.round, t.mode, t.pending, t.tool_deadline,
                     t.error_code, t.retryable, t.has_streamed, t.events, t.created_at,
                     t.updated_at);
}

std::string text_of(const Round& r) {
  std::string text = fmt::format("{{{} {} {} {}", r.request.round, r.request.key, r.request.body,
                                 r.request.events);
  if (r.answer) {
    text += fmt::format(" -> {} {} {} {} {}", r.answer->round, r.answer->body, r.answer->events,
                        r.answer->deltas, r.answer->created_at);
  }
  return text + "}";
}

template <class T>
std::string text_of(const std::vector<T>& all);
template <class T>
std::string text_of(const std::optional<T>& value);
std::string text_of(const TurnRecord& r) { return text_of(r.turn) + text_of(r.rounds); }
std::string text_of(const Applied& a) {
  return fmt::format("{} {} {}", a.session, a.turn, a.number);
}
std::string text_of(const Abandoned& a) { return text_of(a.session) + text_of(a.record); }
std::string text_of(const EventRow& e) {
  return fmt::format("{} {} {} {}", e.number, e.turn_id, e.events, e.first_number);
}
std::string text_of(const TurnJournal::Overdue& o) { return o.room.session_id + o.turn_id; }
std::string text_of(const TurnJournal::History& h) {
  return text_of(h.turns) + (h.more ? "+" : "");
}
std::string text_of(const Pruned& p) { return fmt::format("{} {}", p.sessions, p.turns); }
std::string text_of(const Amount& a) { return fmt::format("{}/{}", a.tokens, a.picodollars); }
std::string text_of(const Spending& s) {
  return fmt::format("{} {} {} {}", s.scope, text_of(s.spent), text_of(s.reserved), s.calls);
}
std::string text_of(const PoolRecord& p) { return p.key + "=" + p.state; }
std::string text_of(const Reserved& reserved) {
  if (const auto* r = std::get_if<Reservation>(&reserved)) {
    return fmt::format("{} {} {}", r->id, r->output_tokens, text_of(r->amount));
  }
  const auto& e = std::get<Exhausted>(reserved);
  return fmt::format("{} {} {} {}", e.scope, text_of(e.spent), text_of(e.reserved),
                     e.may_come_back);
}
std::string text_of(bool value) { return value ? "yes" : "no"; }
std::string text_of(const std::string& value) { return value; }
std::string text_of(const Lease& lease) { return std::to_string(lease.token); }
std::string text_of(const ExecutionRow& r) {
  return fmt::format("{} {} {} {} {} {} {} {}", r.execution, r.machine, r.event, r.state, r.channel,
                     r.step, r.updated_at, r.is_leased);
}
std::string text_of(const ExecutionRecord& r) {
  return fmt::format("{} {} {} {} {}", r.execution, r.latest_event, r.latest_step, r.snapshot,
                     fmt::join(r.journal, ","));
}
std::string text_of(const WorkItem& item) { return fmt::format("{} {}", item.data, item.attempts); }
std::string text_of(const WorkCounts& c) {
  return fmt::format("{} {} {} {}", c.pending, c.claimed, c.completed, c.poisoned);
}
std::string text_of(const View& v) {
  return text_of(v.session) + text_of(v.named) + text_of(v.newest) + text_of(v.same_turn) +
         text_of(v.same);
}
template <class T>
std::string text_of(const std::optional<T>& value) {
  return value ? text_of(*value) : "-";
}
template <class T>
std::string text_of(const std::vector<T>& all) {
  std::string text = "<";
  for (const T& one : all) text += text_of(one) + ";";
  return text + ">";
}

template <class T>
std::string answer_of(const std::expected<T, Error>& answer) {
  if (!answer) return "error: " + answer.error().message;
  if constexpr (std::is_void_v<T>) {
    return "done";
  } else {
    return text_of(*answer);
  }
}

// Numbers that decide what happens; the same ones for every store.
class Dice {
 public:
  explicit Dice(std::uint32_t seed) : random_(seed) {}
  std::uint32_t roll(std::uint32_t sides) { return random_() % sides; }

 private:
  std::mt19937 random_;
};

Change change_of(Dice& dice, const View& view, const Room& room, const std::string& turn_id) {
  Change change;
  const std::string key = fmt::format("key{}", dice.roll(12));
  const auto state = static_cast<TurnState>(dice.roll(6));
  const bool latches = dice.roll(3) == 0;
  const std::uint32_t kind = dice.roll(8);
  if (kind == 7) return change;
  if (latches) change.solution_context = fmt::format("context{}", dice.roll(3));
  if (kind < 3) {
    if (!view.session) change.open = NewSession{.room = room, .opening_turn = "opening"};
    change.agent = "default";
    change.begin = NewTurn{.turn_id = turn_id, .mode = "General"};
    change.request = testing::request_of(key);
    change.request->events = "begun\n";
    return change;
  }
  if (!view.named) return change;
  change.turn = view.named->id;
  change.update = TurnUpdate{.state = state, .round = view.named->round, .retryable = latches};
  if (kind == 3) change.answer = testing::answer_of("instead", view.named->round);
  if (kind == 4) change.events = "more\n";
  if (kind > 4) {
    change.update->round += 1;
    change.update->state = TurnState::accepted;
    change.request = testing::request_of(key, view.named->round + 1);
  }
  return change;
}

Settlement settlement_of(Dice& dice) {
  Settlement settlement{.turn = dice.roll(40)};
  settlement.answer = testing::answer_of(fmt::format(R"({{"SessionId":"s{}"}})", dice.roll(3)), 0);
  settlement.answer.events = "ended\n";
  settlement.update = {.state = static_cast<TurnState>(dice.roll(6)),
                       .tool_deadline = dice.roll(5'000),
                       .retryable = dice.roll(2) == 0,
                       .events = 3};
  return settlement;
}

Purchase purchase_of(Dice& dice) {
  Purchase purchase{.day = 20'000 + dice.roll(2)};
  for (std::uint32_t i = dice.roll(3); i > 0; --i) {
    purchase.limits.push_back({.scope = fmt::format("agent:{}", dice.roll(3)),
                               .tokens = dice.roll(3'000),
                               .picodollars = 10'000});
  }
  purchase.input_tokens = dice.roll(100);
  purchase.output_tokens = dice.roll(500);
  purchase.least_output = dice.roll(100);
  purchase.output_price = dice.roll(5);
  return purchase;
}

std::string change_journal(Store& store, Dice& dice, const Room& room, const std::string& turn_id) {
  switch (dice.roll(9)) {
    case 0:
    case 1:
    case 2:
    case 3: {
      const std::uint32_t seed = dice.roll(1U << 30U);
      const auto decided = wait_for(
          store.decide({room, turn_id, fmt::format("key{}", dice.roll(12))}, [&](const View& view) {
            Dice own(seed);
            return Proposal<View>{change_of(own, view, room, turn_id), view};
          }));
      if (!decided) return "error: " + decided.error().message;
      return text_of(decided->value) + text_of(decided->applied);
    }
    case 4:
    case 5: return answer_of(wait_for(store.settle(settlement_of(dice))));
    case 6: return answer_of(wait_for(store.mark_streamed(dice.roll(40), "{}\n")));
    case 7: {
      const std::string into = fmt::format("s{}", dice.roll(6));
      return answer_of(wait_for(store.branch(room, turn_id, into)));
    }
    default: return answer_of(wait_for(store.delete_session(room)));
  }
}

std::string read_journal(Store& store, Dice& dice, const Room& room, const std::string& turn_id) {
  const std::int64_t session = dice.roll(12);
  const std::int64_t number = dice.roll(6);
  switch (dice.roll(7)) {
    case 0: return answer_of(wait_for(store.find_session(room)));
    case 1: return answer_of(wait_for(store.find_turn(room, turn_id)));
    case 2: return answer_of(wait_for(store.list_sessions({.limit = 4})));
    case 3: return answer_of(wait_for(store.list_turns(session, number, 3)));
    case 4: return answer_of(wait_for(store.history(session, number, 200)));
    case 5: return answer_of(wait_for(store.events(session, number, 4)));
    default: return answer_of(wait_for(store.overdue(dice.roll(6'000), 3)));
  }
}

std::string use_budgets(Store& store, Dice& dice) {
  switch (dice.roll(6)) {
    case 0:
    case 1: return answer_of(wait_for(store.reserve(purchase_of(dice))));
    case 2: {
      const Amount spent{.tokens = dice.roll(600), .picodollars = dice.roll(600)};
      return answer_of(wait_for(store.settle_reservation(dice.roll(20), spent)));
    }
    case 3: return answer_of(wait_for(store.spending(20'000 + dice.roll(2))));
    case 4: {
      std::vector<PoolRecord> pools = {
          {.key = fmt::format("p{}", dice.roll(4)), .state = std::to_string(dice.roll(9))}};
      return answer_of(wait_for(store.save_pools(std::move(pools))));
    }
    default: return answer_of(wait_for(store.pools()));
  }
}

std::string use_machines(MachineStore& machines, Dice& dice) {
  const std::string execution = fmt::format("x{}", dice.roll(3));
  const std::string channel = fmt::format("c{}", dice.roll(2));
  const std::int64_t token = 1 + dice.roll(3);
  MachineWrite write{.execution = execution, .token = token, .machine = "m"};
  write.checkpoints.push_back({.event = dice.roll(2) == 0 ? "waiting" : "state_enter",
                               .step = dice.roll(5),
                               .state = "work",
                               .channel = channel,
                               .snapshot = "{}"});
  write.journal.push_back(fmt::format(R"({{"line":{}}})", dice.roll(100)));
  write.releases = dice.roll(2) == 0;
  switch (dice.roll(11)) {
    case 0: {
      const auto lease = wait_for(machines.acquire(execution));
      return lease ? text_of(*lease) : "refused";
    }
    case 1: return std::to_string(wait_for(machines.release(execution, token)).has_value());
    case 2: return std::to_string(wait_for(machines.renew(execution, token)).has_value());
    case 3: return std::to_string(wait_for(machines.write(std::move(write))).has_value());
    case 4: return answer_of(wait_for(machines.send_signal(channel, "data")));
    case 5: {
      const auto taken =
          wait_for(machines.take_signal(channel, [&](const std::string&) { return write; }, write));
      return taken ? text_of(*taken) : "refused";
    }
    case 6: return answer_of(wait_for(machines.find_execution(execution)));
    case 7: return answer_of(wait_for(machines.list_executions()));
    case 8: return std::to_string(wait_for(machines.push_work("pool", {"1", "2"}, 2))->size());
    case 9: {
      const auto item = wait_for(machines.claim_work("pool", "worker"));
      if (!item || !*item) return "nothing";
      const std::string id = (*item)->id;
      const bool is_done = dice.roll(2) == 0;
      const auto ended = is_done ? wait_for(machines.complete_work("pool", id, "worker", "{}"))
                                 : wait_for(machines.fail_work("pool", id, "worker", "no"));
      return text_of(**item) + answer_of(ended);
    }
    default: return answer_of(wait_for(machines.count_work("pool")));
  }
}

std::string diary_of(const Round& round) { return "again " + round.request.key + "\n"; }

// Everything that a sequence of operations answers.
std::vector<std::string> answers_of(testing::StorePlace& place, std::uint32_t seed) {
  Dice dice(seed);
  std::vector<std::string> answers;
  auto store = place.open();
  for (int i = 0; i < kOperations; ++i) {
    place.time() += dice.roll(1'000);
    const Room room{.tenant = fmt::format("tenant{}", dice.roll(2)),
                    .session_id = fmt::format("s{}", dice.roll(3))};
    const std::string turn_id = fmt::format("t{}", dice.roll(5));
    const std::uint32_t kind = dice.roll(20);
    if (kind == 0) {
      store.reset();
      store = place.open();
      answers.push_back(answer_of(wait_for(store->claim_abandoned(diary_of, {}))));
    } else if (kind == 1) {
      const Milliseconds before = place.time() - dice.roll(30'000);
      answers.push_back(answer_of(wait_for(store->prunable(before, room.tenant))) +
                        answer_of(wait_for(store->prune(before, room.tenant))));
    } else if (kind < 11) {
      answers.push_back(change_journal(*store, dice, room, turn_id));
    } else if (kind < 16) {
      answers.push_back(read_journal(*store, dice, room, turn_id));
    } else {
      answers.push_back(use_budgets(*store, dice));
    }
  }
  return answers;
}

std::vector<std::string> machine_answers_of(testing::StorePlace& place, std::uint32_t seed) {
  Dice dice(seed);
  std::vector<std::string> answers;
  const auto store = place.open();
  for (int i = 0; i < kOperations; ++i) {
    place.time() += dice.roll(1'000);
    answers.push_back(use_machines(store->machines(), dice));
  }
  return answers;
}

void check_equal(const std::vector<std::string>& left, const std::vector<std::string>& right,
                 std::uint32_t seed) {
  CAPTURE(seed);
  REQUIRE(left.size() == right.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    CAPTURE(i);
    REQUIRE(left[i] == right[i]);
  }
}

}  // namespace

TEST_CASE("SQLite and memory answer random operations in the same way") {
  for (std::uint32_t seed = 1; seed <= kSequences; ++seed) {
    testing::SqliteFile file;
    testing::InMemory memory;
    check_equal(answers_of(file, seed), answers_of(memory, seed), seed);
  }
}

TEST_CASE("Random operations answer the same when every decision runs twice") {
  for (std::uint32_t seed = 1; seed <= kSequences; ++seed) {
    testing::InMemory once;
    testing::DecidingTwice<testing::InMemory> twice;
    check_equal(answers_of(once, seed), answers_of(twice, seed), seed);
  }
}

TEST_CASE("SQLite and memory answer random operations of machines in the same way") {
  for (std::uint32_t seed = 1; seed <= kSequences; ++seed) {
    testing::SqliteFile file;
    testing::InMemory memory;
    check_equal(machine_answers_of(file, seed), machine_answers_of(memory, seed), seed);
  }
}

}  // namespace treaty::store
