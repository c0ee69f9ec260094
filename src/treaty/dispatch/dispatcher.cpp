#include "treaty/dispatch/dispatcher.h"

#include <algorithm>
#include <limits>

#include "treaty/dispatch/call_run.h"

namespace treaty::dispatch {

namespace asio = boost::asio;

Dispatcher::Dispatcher(BackendSources sources, Services services)
    : sources_(std::move(sources)),
      services_(std::move(services)),
      random_(services_.seed != 0 ? services_.seed : std::random_device()()) {}

asio::awaitable<Dispatched> Dispatcher::run(CallOrder order, backends::Call call,
                                            backends::Sink& sink, Observer& observer) {
  CallRun one(*this, order, std::move(call), sink, observer);
  co_return co_await one.run();
}

Seconds Dispatcher::next_free(std::span<const Choice> chain) const {
  Seconds soonest = std::numeric_limits<Seconds>::infinity();
  const Moment now = services_.pools->now();
  for (const Choice& choice : chain) {
    if (!choice.on.empty()) continue;
    const auto source = sources_.find(choice.backend);
    if (source == sources_.end()) continue;
    soonest = std::min(soonest, pool_of(choice, source->second)->view(now).next_free_in);
  }
  return soonest == std::numeric_limits<Seconds>::infinity() ? 0 : soonest;
}

void Dispatcher::take_over_pools(std::span<const Choice> chain) {
  for (const Choice& choice : chain) {
    const auto source = sources_.find(choice.backend);
    if (source == sources_.end()) continue;
    if (auto pool = services_.pools->find_known(source->second.pool_of(choice.model))) {
      known_[choice.backend][choice.model] = std::move(pool);
    }
  }
}

std::shared_ptr<Pool> Dispatcher::pool_of(const Choice& choice, const Source& source) const {
  auto& pool = known_[choice.backend][choice.model];
  if (!pool) pool = services_.pools->find(source.pool_of(choice.model));
  return pool;
}

const std::string& Dispatcher::pool_key_of(const Choice& choice) const {
  std::string& key = pool_keys_[choice.backend][choice.model];
  if (!key.empty()) return key;
  const auto source = sources_.find(choice.backend);
  if (source != sources_.end()) key = source->second.pool_of(choice.model).key;
  return key;
}

double Dispatcher::dice() { return std::uniform_real_distribution<double>(0, 1)(random_); }

}  // namespace treaty::dispatch
