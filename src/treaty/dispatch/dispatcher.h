// Runs a call on a chain of backends: pace, try, retry, switch. policy.h decides what to do; here
// it is done.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "treaty/backends/backend.h"
#include "treaty/dispatch/budgets/purchase.h"
#include "treaty/dispatch/chain.h"
#include "treaty/dispatch/dispatched.h"
#include "treaty/dispatch/pools.h"

namespace treaty::dispatch {

using PoolNames = std::function<PoolName(const std::string& model)>;

// A backend of one worker, and the pools of its models.
struct Source {
  std::shared_ptr<backends::Backend> backend{};
  std::string provider_kind{};  // For the price table; empty: there are no prices.
  PoolNames pool_of{};

  Pace pace = Pace::own;  // Providers keep Call::timeouts themselves and can stream.
  std::string author{};   // With the model: Call::author. Empty: no thoughts are kept.

  // Whether the model of a call continues a message of the assistant (prefill); null: none does.
  std::function<bool(const backends::Call&)> continues_answers{};
};
using BackendSources = std::map<std::string, Source, std::less<>>;

struct CallOrder {
  std::span<const Choice> chain;
  Moment deadline = 0;
  bool continues_cuts = false;                // on_cut: continue.
  std::vector<store::BudgetLimit> budgets{};  // None: nothing is set aside.
};

// Belongs to one event loop, as its backends do. Pools and store are shared with the other loops.
class Dispatcher {
 public:
  struct Services {
    std::shared_ptr<Pools> pools{};
    store::BudgetStore* budgets = nullptr;        // Outlives the dispatcher. Null: there are none.
    const results::PriceTable* prices = nullptr;  // Likewise.
    std::uint64_t seed = 0;                       // Of jitter and weights; 0: a random one.
  };

  Dispatcher(BackendSources sources, Services services);

  // Cancelling the coroutine ends the call in hand, or the wait.
  boost::asio::awaitable<Dispatched> run(CallOrder order, backends::Call call, backends::Sink& sink,
                                         Observer& observer);

  // Becomes a user of the pools of this chain that are there already: for a dispatcher that takes
  // the place of another one.
  void take_over_pools(std::span<const Choice> chain);

  // Seconds until the first backend of the chain is free for a call that comes now.
  Seconds next_free(std::span<const Choice> chain) const;

  Pools& pools() const { return *services_.pools; }

 private:
  friend class CallRun;

  double dice();  // 0 to 1.
  std::shared_ptr<Pool> pool_of(const Choice& choice, const Source& source) const;
  const std::string& pool_key_of(const Choice& choice) const;  // Empty: there is no such backend.

  BackendSources sources_;
  Services services_;
  std::mt19937_64 random_;
  // Those that were looked up before, by backend and model.
  mutable std::map<std::string, std::map<std::string, std::shared_ptr<Pool>>> known_{};
  mutable std::map<std::string, std::map<std::string, std::string>> pool_keys_{};
};

}  // namespace treaty::dispatch
