#include "treaty/app/gateway.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <cstdio>
#include <future>
#include <thread>
#include <vector>

#include "treaty/api/api.h"
#include "treaty/api/invoke_result_renderer.h"
#include "treaty/app/backends.h"
#include "treaty/base/try.h"
#include "treaty/cli/terminal.h"
#include "treaty/config/addresses.h"
#include "treaty/http/server.h"
#include "treaty/store/open_store.h"
#include "treaty/turns/engine.h"

namespace treaty::app {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

// How often turns of dead processes, turns whose tools are overdue, abandoned machines and rows of
// deleted sessions are looked for, and the state of the quota pools is saved.
constexpr auto kSweep = 1s;

// How long connections have to send what they were given, once all turns have ended.
constexpr auto kLastWrites = 500ms;

// Of turns without a key.
constexpr const char* kOwnTenant = "local";

void report(const std::string& line) {
  std::fprintf(stderr, "treaty: %s\n", cli::harmless(line).c_str());
}

std::shared_ptr<const api::ApiSettings> api_settings(const config::Configuration& configuration) {
  auto settings = std::make_shared<api::ApiSettings>();
  for (const auto& [tenant, sha256] : configuration.keys)
    settings->keys.push_back({tenant, sha256});
  settings->always_200 = configuration.http.always_200;
  settings->max_body_bytes = configuration.http.max_body_bytes;
  return settings;
}

// The first to listen takes the port for this process alone; the others share it.
http::ServerOptions server_options(const config::Http& http, std::shared_ptr<http::ServerLoad> load,
                                   bool is_first, const api::Api& api) {
  return {.reuse_port = !is_first,
          .load = std::move(load),
          .max_header_bytes = http.max_header_bytes,
          .max_body_bytes = http.max_body_bytes,
          .max_body_memory = http.body_memory,
          .max_connections = http.max_connections,
          .header_timeout = http.header_timeout,
          .body_timeout = http.body_timeout,
          .idle_timeout = http.idle_timeout,
          .admit = [&api](const http::Request& head) { return api.admit(head); },
          .refusal = api::Api::refusal};
}

// One event loop and what belongs to it.
class WorkerThread {
 public:
  WorkerThread(turns::Engine& engine, const config::Configuration& configuration,
               std::shared_ptr<const turns::Settings> settings,
               std::shared_ptr<const SharedBackends> shared, std::shared_ptr<http::ServerLoad> load,
               bool is_first)
      : backends_(make_backends(context_, configuration, std::move(shared), &pool_)),
        worker_{context_.get_executor(), std::move(settings), backends_.dispatcher, &pool_},
        api_(engine, worker_, api_settings(configuration)),
        server_(
            context_, [this](http::Exchange& exchange) { return api_.handle(exchange); },
            server_options(configuration.http, std::move(load), is_first, api_)) {}

  ~WorkerThread() { join(); }
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;

  void start() {
    thread_ = std::jthread([this] { context_.run(); });
  }

  // Runs `work` on the loop's thread and waits for it.
  template <class Work>
  auto call(Work work) {
    std::packaged_task<std::invoke_result_t<Work>()> task(std::move(work));
    auto done = task.get_future();
    asio::post(context_, [&task] { task(); });
    return done.get();
  }

  void join() {
    context_.stop();
    if (thread_.joinable()) thread_.join();
  }

  // Called on the loop's thread.
  void configure(const config::Configuration& configuration,
                 std::shared_ptr<const turns::Settings> settings,
                 std::shared_ptr<const SharedBackends> shared) {
    backends_ = make_backends(context_, configuration, std::move(shared), &pool_);
    worker_.settings = std::move(settings);
    worker_.dispatcher = backends_.dispatcher;
  }

  asio::awaitable<void> resume_launched() {
    const auto resume = backends_.resume_launched;  // A reload may replace it meanwhile.
    if (resume) co_await resume();
  }

  asio::io_context& context() { return context_; }
  turns::Worker& worker() { return worker_; }
  api::Api& api() { return api_; }
  http::Server& server() { return server_; }

 private:
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard_ =
      asio::make_work_guard(context_);
  OffloadPool pool_{{.threads = 1, .most_waiting = 1'024}};  // For large requests and answers.
  WorkerBackends backends_;
  turns::Worker worker_;
  api::Api api_;
  http::Server server_;
  std::jthread thread_{};
};

class RunningGateway final : public cli::Gateway {
 public:
  RunningGateway(std::unique_ptr<store::Store> store, config::Configuration configuration,
                 const std::shared_ptr<const SharedBackends>& shared)
      : store_(std::move(store)),
        pools_(shared->pools),
        secrets_(shared->secrets),
        engine_(*store_, system_clock(), {&api::invoke_result_renderer()}, report),
        configuration_(std::move(configuration)) {
    const auto settings = std::make_shared<const turns::Settings>(configuration_.turns);
    const auto workers = static_cast<std::size_t>(
        configuration_.workers > 0
            ? configuration_.workers
            : std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
    const auto load = std::make_shared<http::ServerLoad>();
    for (std::size_t i = 0; i < workers; ++i) {
      threads_.push_back(
          std::make_unique<WorkerThread>(engine_, configuration_, settings, shared, load, i == 0));
    }
    for (auto& thread : threads_) thread->start();
    // What is not known of the limits is learnt anew.
    asio::co_spawn(threads_.front()->context(), pools_->load(*store_), asio::use_future).wait();
  }

  ~RunningGateway() override {
    asio::co_spawn(threads_.front()->context(), pools_->save(*store_), asio::use_future).wait();
    for (auto& thread : threads_) thread->join();
    store_.reset();  // What it still does, it tells the loops, which are there until then.
  }

  std::expected<std::uint16_t, Error> listen() override {
    auto& first = *threads_.front();
    TREATY_TRY_VOID(
        asio::co_spawn(first.context(), engine_.recover(first.worker()), asio::use_future).get());
    asio::co_spawn(first.context(), sweep(), asio::detached);
    asio::co_spawn(first.context(), delete_leftovers(), asio::detached);
    std::uint16_t port = configuration_.listen.port;
    for (auto& thread : threads_) {
      TREATY_TRY(port, thread->call([&] {
        return thread->server().listen(configuration_.listen.address, port);
      }));
    }
    configuration_.listen.port = port;
    return port;
  }

  std::expected<void, Error> reload(const config::Configuration& configuration) override {
    // The listener does not change before a restart, whatever address the new configuration has.
    if (config::find_open_door(configuration_.listen, !configuration.keys.empty())) {
      return fail(
          ErrorCode::conflict,
          fmt::format("it has no keys, and the server listens on {}, which others can reach, "
                      "until it is restarted; add `keys` to treaty.yaml, or restart the "
                      "server to listen on 127.0.0.1",
                      config::text_of(configuration_.listen)));
    }
    TREATY_TRY(auto shared, share_backends(configuration, pools_, store_.get(), *secrets_));
    secrets_ = shared->secrets;
    const auto settings = std::make_shared<const turns::Settings>(configuration.turns);
    const auto access = api_settings(configuration);
    for (auto& thread : threads_) {
      thread->call([&] {
        thread->configure(configuration, settings, shared);
        thread->api().configure(access);
        thread->server().configure(
            server_options(configuration.http, nullptr, false, thread->api()));
      });
    }
    configuration_.http = configuration.http;
    return {};
  }

  void stop() override {
    for (auto& thread : threads_) thread->call([&] { thread->server().stop(); });
    wait_until(configuration_.http.shutdown_timeout, [&] { return engine_.running() == 0; });
    wait_until(kLastWrites, [&] {
      return std::ranges::all_of(threads_, [](auto& thread) {
        return thread->call([&] { return thread->server().connections() == 0; });
      });
    });
    for (auto& thread : threads_) thread->call([&] { thread->server().abandon(); });
  }

  std::string execute(contracts::AgentExecuteRequest request, const OnText& on_text,
                      const OnEvent& on_event) override {
    auto& thread = *threads_.front();
    return asio::co_spawn(thread.context(),
                          follow(thread.worker(), std::move(request), on_text, on_event),
                          asio::use_future)
        .get();
  }

  void cancel(const std::string& session_id, const std::string& turn_id) override {
    auto& thread = *threads_.front();
    auto ended = asio::co_spawn(thread.context(),
                                engine_.cancel(thread.worker(), {kOwnTenant, session_id}, turn_id),
                                asio::use_future);
    ended.wait();  // What became of the turn is told by whoever runs it.
  }

  std::expected<std::optional<store::TurnRecord>, Error> newest_turn(
      const std::string& session_id) override {
    return asio::co_spawn(threads_.front()->context(), find_newest({kOwnTenant, session_id}),
                          asio::use_future)
        .get();
  }

 private:
  asio::awaitable<std::string> follow(turns::Worker& worker, contracts::AgentExecuteRequest request,
                                      const OnText& on_text, const OnEvent& on_event) {
    using namespace asio::experimental::awaitable_operators;  // NOLINT: operators only.
    const auto dialect = request.dialect;
    const auto log = co_await engine_.execute(worker, {.tenant = kOwnTenant,
                                                       .request = std::move(request),
                                                       .renderer = &api::invoke_result_renderer()});
    if (!on_event || !log->opening()) co_return co_await follow_log(*log, dialect, on_text);
    const auto first =
        co_await (follow_log(*log, dialect, on_text) || follow_diary(worker, *log, on_event));
    if (const auto* body = std::get_if<std::string>(&first)) co_return *body;
    co_return co_await follow_log(*log, dialect, on_text);  // The diary could not be read.
  }

  static asio::awaitable<std::string> follow_log(turns::TurnLog& log, contracts::Dialect dialect,
                                                 const OnText& on_text) {
    std::int64_t last_id = log.first_event() - 1;
    while (true) {
      for (const auto& event : log.after(last_id)) {
        last_id = event.id;
        if (const auto* delta = std::get_if<turns::Delta>(&event.what)) on_text(delta->text);
        if (const auto* end = std::get_if<std::shared_ptr<const turns::Outcome>>(&event.what)) {
          co_return (*end)->body_for(api::invoke_result_renderer(), dialect);
        }
      }
      co_await log.wait(last_id, 1h);
    }
  }

  // Until it is cancelled, or cannot be read.
  asio::awaitable<void> follow_diary(turns::Worker& worker, const turns::TurnLog& log,
                                     const OnEvent& on_event) {
    const auto opening = *log.opening();
    const store::Room room{kOwnTenant, opening.session_id};
    const auto record = co_await store_->find_turn(room, opening.turn_id);
    if (!record || !*record) co_return;
    // The client saw the events of earlier rounds when it answered their tools.
    const store::Turn& turn = (*record)->turn;
    std::int64_t last_id =
        turn.number * turns::kEventsPerTurn + turn.round * turns::kEventsPerRound;
    while (true) {
      const auto events = co_await engine_.events(worker, room, last_id, 1h);
      if (!events) co_return;
      for (const auto& event : *events) {
        last_id = event.id;
        on_event(event.kind, event.data);
      }
    }
  }

  store::Task<std::optional<store::TurnRecord>> find_newest(store::Room room) {
    TREATY_CO_TRY(const auto session, co_await store_->find_session(room));
    if (!session || session->turns == 0) co_return std::nullopt;
    co_return co_await store_->find_turn(room, session->last_turn);
  }

  asio::awaitable<void> sweep() {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    while (true) {
      co_await engine_.recover(threads_.front()->worker());  // What fails is tried again.
      co_await engine_.expire_overdue(threads_.front()->worker());
      co_await pools_->save(*store_);
      co_await threads_.front()->resume_launched();
      timer.expires_after(kSweep);
      co_await timer.async_wait(asio::use_awaitable);
    }
  }

  // Apart from sweep(), which does not wait until large sessions are deleted.
  asio::awaitable<void> delete_leftovers() {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    while (true) {
      co_await store_->delete_leftovers();  // What fails is tried again.
      timer.expires_after(kSweep);
      co_await timer.async_wait(asio::use_awaitable);
    }
  }

  static void wait_until(std::chrono::milliseconds patience, const auto& done) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!done() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(5ms);
  }

  std::unique_ptr<store::Store> store_;
  std::shared_ptr<dispatch::Pools> pools_;
  std::shared_ptr<const KnownSecrets> secrets_;
  turns::Engine engine_;
  config::Configuration configuration_;
  std::vector<std::unique_ptr<WorkerThread>> threads_{};
};

}  // namespace

std::expected<std::unique_ptr<cli::Gateway>, Error> open_gateway(
    const config::Configuration& configuration) {
  auto store = store::open_store(
      configuration.store, {.on_damage = [](const Error& error) {
        std::fprintf(stderr, "treaty: the store is damaged: %s; nothing more is written to it\n",
                     error.message.c_str());
      }});
  if (!store) return std::unexpected(store.error());
  TREATY_TRY(auto shared,
             share_backends(configuration, std::make_shared<dispatch::Pools>(system_clock()),
                            store->get()));
  return std::make_unique<RunningGateway>(*std::move(store), configuration, std::move(shared));
}

}  // namespace treaty::app
