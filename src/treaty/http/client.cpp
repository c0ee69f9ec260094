#include "treaty/http/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <unordered_map>
#include <vector>

#include "treaty/base/try.h"
#include "treaty/http/net/client_connection.h"
#include "treaty/http/wire/message_head.h"
#include "treaty/http/wire/response_decoder.h"

namespace treaty::http {

namespace asio = boost::asio;
using boost::system::error_code;
using Outcome = std::expected<void, FetchFailure>;

namespace {

// Names that are looked up at once, and that wait for it.
constexpr std::size_t kLookups = 16;
constexpr std::size_t kWaitingLookups = 1'024;

constexpr std::size_t kScratch = std::size_t{64} << 10U;

// After so many reads without a pause others get their turn, timeouts and cancellation among them.
constexpr int kReadsInARow = 16;

// What cannot be put on the wire without becoming something else. Names alone are repeated.
Outcome check(const Url& url, const Request& request) {
  if (!is_token(request.method)) return fail(FailureKind::bad_address, "the method is not a token");
  const bool target_is_fine = url.target.starts_with('/') &&
                              std::ranges::all_of(url.target, [](char c) { return c > ' '; });
  if (!target_is_fine || url.host.empty() || url.port == 0) {
    return fail(FailureKind::bad_address, "the address is not one that can be asked");
  }
  for (const HeaderField& field : request.headers) {
    if (!is_token(field.name) || !is_field_value(field.value)) {
      return fail(FailureKind::bad_address,
                  fmt::format("the value of the header {} holds a control character: is there a "
                              "line break in the key?",
                              is_token(field.name) ? field.name : "without a proper name"));
    }
  }
  return {};
}

std::string host_header(const Url& url) {
  const bool is_usual = url.port == (url.secure ? 443 : 80);
  if (!is_usual) return authority_of(url.host, url.port);
  return url.host.contains(':') ? fmt::format("[{}]", url.host) : url.host;
}

bool has_length(const Request& request) {
  return !request.body.empty() || request.method == "POST" || request.method == "PUT" ||
         request.method == "PATCH";
}

// Head and body in one piece: one write, and mostly one packet.
std::string wire_bytes(const Url& url, const Request& request, const std::optional<Proxy>& proxy) {
  const bool through_proxy = proxy && !url.secure;
  std::string out;
  out.reserve(256 + url.target.size() + 64 * request.headers.size() + request.body.size());
  out.append(request.method).append(" ");
  if (through_proxy) out.append("http://").append(host_header(url));
  out.append(url.target).append(" HTTP/1.1\r\n");
  const Headers& headers = request.headers;
  if (headers.find("host") == nullptr) out.append("Host: ").append(host_header(url)).append("\r\n");
  for (const HeaderField& field : headers) {
    if (field.name == "content-length" || field.name == "transfer-encoding") continue;
    out.append(field.name).append(": ").append(field.value).append("\r\n");
  }
  if (headers.find("accept-encoding") == nullptr) out += "Accept-Encoding: gzip, deflate\r\n";
  if (through_proxy && !proxy->authorization.empty()) {
    out.append("Proxy-Authorization: ").append(proxy->authorization).append("\r\n");
  }
  if (has_length(request)) {
    fmt::format_to(std::back_inserter(out), "Content-Length: {}\r\n", request.body.size());
  }
  return out.append("\r\n").append(request.body);
}

class WholeAnswer final : public ResponseSink {
 public:
  void on_head(const Response& head) override { answer_ = head; }
  bool on_body(std::string_view bytes) override {
    answer_.body.append(bytes);
    return true;
  }
  Response& answer() { return answer_; }

 private:
  Response answer_{};
};

}  // namespace

class Client::State {
 public:
  State(asio::io_context& context, ClientOptions options)
      : context_(context), options_(std::move(options)), scratch_(kScratch) {
    if (options_.guard) return;
    if (options_.proxy) {
      proxies_ = *options_.proxy;
    } else if (options_.proxy_from_environment) {
      proxies_ = ProxyVariables::from_environment();
    }
  }

  ~State() {
    for (auto& [key, connections] : idle_) {
      for (Idle& idle : connections) idle.connection->hang_up();
    }
  }

  asio::awaitable<Outcome> fetch(const Url& url, const Request& request,
                                 const FetchOptions& options, ResponseSink& sink);

 private:
  using Connected = std::expected<std::shared_ptr<ClientConnection>, FetchFailure>;

  struct Idle {
    std::shared_ptr<ClientConnection> connection;
    SteadyTime until;
  };

  std::shared_ptr<ClientConnection> take_idle(const std::string& key);
  void keep(const std::string& key, std::shared_ptr<ClientConnection> connection);
  void drop_expired();
  asio::awaitable<Connected> connect(const Url& url, const std::optional<Proxy>& proxy,
                                     FetchTimeouts& timeouts);
  asio::awaitable<Outcome> send(ClientConnection& connection, std::string_view bytes,
                                FetchTimeouts& timeouts);
  asio::awaitable<Outcome> receive(ClientConnection& connection, ResponseDecoder& decoder,
                                   const ResponseSink& sink, FetchTimeouts& timeouts);

  asio::io_context& context_;
  ClientOptions options_;
  ProxyVariables proxies_{};
  std::optional<TlsContext> tls_{};  // Made for the first https address: it costs milliseconds.
  std::vector<char> scratch_;        // Lent to one read at a time, never across a wait.
  OffloadPool lookups_{{.threads = kLookups,
                        .most_waiting = kWaitingLookups,
                        .at_end = OffloadPool::AtEnd::abandon}};
  std::unordered_map<std::string, std::vector<Idle>> idle_{};
  std::size_t idle_count_ = 0;
  SteadyTime next_sweep_ = SteadyTime::min();
};

// At most once a second. No timer: an event loop with nothing else to do may end.
void Client::State::drop_expired() {
  const SteadyTime now = std::chrono::steady_clock::now();
  if (now < next_sweep_) return;
  next_sweep_ = now + std::chrono::seconds(1);
  for (auto& [key, connections] : idle_) {
    idle_count_ -= std::erase_if(connections, [now](const Idle& idle) {
      if (idle.until > now) return false;
      idle.connection->hang_up();
      return true;
    });
  }
  std::erase_if(idle_, [](const auto& entry) { return entry.second.empty(); });
}

std::shared_ptr<ClientConnection> Client::State::take_idle(const std::string& key) {
  drop_expired();
  const auto found = idle_.find(key);
  if (found == idle_.end()) return nullptr;
  while (!found->second.empty()) {
    Idle idle = std::move(found->second.back());
    found->second.pop_back();
    --idle_count_;
    if (idle.until > std::chrono::steady_clock::now() && idle.connection->is_quiet()) {
      return std::move(idle.connection);
    }
    idle.connection->close();
  }
  return nullptr;
}

void Client::State::keep(const std::string& key, std::shared_ptr<ClientConnection> connection) {
  drop_expired();
  if (idle_count_ >= options_.max_idle_connections || !connection->socket().is_open()) {
    return connection->hang_up();
  }
  connection->stop_timer();
  idle_[key].push_back({std::move(connection), after(options_.keep_alive)});
  ++idle_count_;
}

asio::awaitable<Client::State::Connected> Client::State::connect(const Url& url,
                                                                 const std::optional<Proxy>& proxy,
                                                                 FetchTimeouts& timeouts) {
  if (url.secure && !tls_) {
    auto made = TlsContext::create(options_.ca_file);
    if (!made) co_return fail(FailureKind::tls, made.error());
    tls_ = std::move(*made);
  }
  co_return co_await dial(context_, lookups_, url, proxy, tls_ ? &*tls_ : nullptr, timeouts,
                          options_.guard.get());
}

asio::awaitable<Outcome> Client::State::send(ClientConnection& connection, std::string_view bytes,
                                             FetchTimeouts& timeouts) {
  while (!bytes.empty()) {
    const IoStep step = connection.write(bytes);
    if (step.outcome == IoOutcome::done) {
      bytes.remove_prefix(step.size);
      continue;
    }
    // A server may answer and close before it has read everything: its answer decides.
    if (step.outcome == IoOutcome::failed || step.outcome == IoOutcome::closed) break;
    timeouts.begin(connection, Phase::idle);
    if (const error_code error = co_await connection.wait_for(step.outcome)) {
      co_return std::unexpected(timeouts.explain(connection, error));
    }
  }
  co_return Outcome{};
}

asio::awaitable<Outcome> Client::State::receive(ClientConnection& connection,
                                                ResponseDecoder& decoder, const ResponseSink& sink,
                                                FetchTimeouts& timeouts) {
  IoOutcome wanted = connection.is_secure() ? IoOutcome::done : IoOutcome::wants_read;
  bool satisfied = false;
  for (int reads = 1;; ++reads) {
    error_code error;
    if (wanted != IoOutcome::done) {
      error = co_await connection.wait_for(wanted);
    } else if (reads % kReadsInARow == 0) {
      co_await asio::post(context_, asio::use_awaitable);
      const auto state = co_await asio::this_coro::cancellation_state;
      if (state.cancelled() != asio::cancellation_type::none || !connection.socket().is_open()) {
        error = asio::error::operation_aborted;
      }
    }
    if (error && satisfied) co_return Outcome{};
    if (error) co_return std::unexpected(timeouts.explain(connection, error));
    const IoStep step = connection.read(scratch_);
    const bool is_over = step.outcome == IoOutcome::failed || step.outcome == IoOutcome::closed;
    if (is_over && satisfied) co_return Outcome{};
    if (step.outcome == IoOutcome::failed) co_return std::unexpected(connection.failure());
    if (step.outcome == IoOutcome::closed) co_return decoder.finish();
    wanted = step.outcome;
    if (step.outcome != IoOutcome::done) continue;
    TREATY_CO_TRY(const bool is_whole, decoder.feed({scratch_.data(), step.size}));
    if (is_whole) co_return Outcome{};
    if (!satisfied && sink.is_satisfied()) {
      satisfied = true;
      timeouts.finish_soon(connection);
    }
    timeouts.note_progress(sink.pieces(), sink.is_whole());
    if (decoder.has_head() && !satisfied) timeouts.begin(connection, Phase::idle);
    if (!connection.is_secure() && step.size < scratch_.size()) wanted = IoOutcome::wants_read;
  }
}

asio::awaitable<Outcome> Client::State::fetch(const Url& url, const Request& request,
                                              const FetchOptions& options, ResponseSink& sink) {
  if (auto checked = check(url, request); !checked) co_return checked;
  const auto proxy = proxy_for(url, proxies_);
  if (!proxy) co_return fail(FailureKind::bad_address, proxy.error().message);
  const std::string bytes = wire_bytes(url, request, *proxy);
  const std::string key =
      fmt::format("{}{}:{} {}", url.secure ? "s " : "", url.host, url.port,
                  *proxy ? authority_of((*proxy)->host, (*proxy)->port) : std::string());
  FetchTimeouts timeouts(options.timeouts);
  std::shared_ptr<ClientConnection> connection = take_idle(key);
  if (!connection) {
    TREATY_CO_TRY(connection, co_await connect(url, *proxy, timeouts));
  }
  // From here on the server may act on the request: whatever happens, it is not sent again.
  ResponseDecoder decoder(sink, options, request.method == "HEAD");
  timeouts.begin(*connection, Phase::first_byte);
  Outcome outcome = co_await send(*connection, bytes, timeouts);
  if (outcome) {
    timeouts.begin(*connection, Phase::first_byte);
    outcome = co_await receive(*connection, decoder, sink, timeouts);
  }
  if (outcome && decoder.keeps_alive()) {
    keep(key, std::move(connection));
  } else {
    outcome ? connection->hang_up() : connection->close();
  }
  co_return outcome;
}

Client::Client(asio::io_context& context, ClientOptions options)
    : state_(std::make_unique<State>(context, std::move(options))) {}
Client::~Client() = default;

// Cancellation is an outcome here, not an exception; the caller's way with it is given back.
asio::awaitable<Outcome> Client::fetch(const Url& url, Request request, FetchOptions options,
                                       ResponseSink& sink) {
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  Outcome outcome{};
  try {
    outcome = co_await state_->fetch(url, request, options, sink);
  } catch (const std::exception& exception) {
    outcome = fail(FailureKind::reset, exception.what());
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  co_return outcome;
}

asio::awaitable<std::expected<Response, FetchFailure>> Client::fetch_all(const Url& url,
                                                                         Request request,
                                                                         FetchOptions options) {
  WholeAnswer sink;
  TREATY_CO_TRY_VOID(co_await fetch(url, std::move(request), options, sink));
  co_return std::move(sink.answer());
}

}  // namespace treaty::http
