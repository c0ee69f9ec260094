#include "treaty/http/server_connection.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <exception>

namespace treaty::http {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// How much a client that was refused may still send before the connection closes on it, beside a
// whole body.
constexpr std::size_t kLastBytes = std::size_t{1} << 20U;
constexpr std::chrono::milliseconds kLastWait{1'000};

// How much may come while a handler waits for the client to go.
constexpr std::size_t kMaxAhead = std::size_t{64} << 10U;

}  // namespace

ServerConnection::ServerConnection(asio::ip::tcp::socket socket, std::shared_ptr<ServerState> state)
    : Channel(std::move(socket)), state_(std::move(state)), place_(state_->connections.size()) {
  state_->connections.push_back(this);
  ++state_->load->connections;
}

ServerConnection::~ServerConnection() {
  ServerConnection* const last = state_->connections.back();
  state_->connections[place_] = last;
  last->place_ = place_;
  state_->connections.pop_back();
  --state_->load->connections;
}

// The completion handler keeps the connection until its coroutine has ended: the signal that cuts
// waits short is a member.
void ServerConnection::start(const std::shared_ptr<ServerConnection>& connection) {
  asio::co_spawn(connection->socket().get_executor(), connection->live(),
                 asio::bind_cancellation_slot(connection->interrupt_.slot(),
                                              [connection](const std::exception_ptr&) {}));
}

void ServerConnection::turn_away(const std::shared_ptr<ServerConnection>& connection) {
  connection->prepare();
  asio::co_spawn(connection->socket().get_executor(),
                 connection->refuse({503, "too many connections; try again later"}),
                 [connection](const std::exception_ptr&) { connection->close(); });
}

asio::awaitable<void> ServerConnection::live() {
  co_await asio::this_coro::throw_if_cancelled(false);
  prepare();
  while (co_await wait_idle() && co_await read_request()) {
    bool failed = false;
    try {
      co_await state_->handler(*this);
    } catch (const std::exception&) {
      failed = true;  // Of a library, or of a test: the connection ends, the server goes on.
    }
    if (!co_await finish_answer(failed)) break;
  }
  close();
}

// Reads what is there into pending_. False with an error, would_block aside.
bool ServerConnection::read_ahead(error_code& error) {
  const std::size_t size = read_now(state_->scratch, error);
  pending_.append(state_->scratch.data(), size);
  if (error == asio::error::would_block) error = {};
  return !error;
}

// The same into `decoder`; what it leaves stays in pending_.
bool ServerConnection::read_into(RequestDecoder& decoder, error_code& error) {
  if (!pending_.empty()) {
    if (!read_ahead(error)) return false;
    pending_.erase(0, decoder.feed(pending_));
    return true;
  }
  const std::size_t size = read_now(state_->scratch, error);
  if (error == asio::error::would_block) error = {};
  const std::string_view bytes(state_->scratch.data(), size);
  const std::size_t taken = decoder.feed(bytes);
  if (taken < size) pending_ = bytes.substr(taken);
  return !error;
}

// False when the connection may close. A connection that waits here owns no memory but its own.
asio::awaitable<bool> ServerConnection::wait_idle() {
  if (state_->stopping) co_return false;
  if (!pending_.empty()) co_return true;
  pending_ = std::string();
  is_idle_ = true;
  set_deadline(after(state_->options.idle_timeout));
  const error_code error = co_await wait_readable();
  is_idle_ = false;
  co_return !error;
}

// The next request, or false when there is none to handle and the connection may close.
asio::awaitable<bool> ServerConnection::read_request() {
  const auto& options = state_->options;
  answer_ = Answer::none;
  RequestDecoder decoder({options.max_header_bytes, options.max_body_bytes, &state_->load->bodies,
                          options.max_body_memory});
  if (!co_await read_until_done(decoder)) {
    if (decoder.refusal().status != 0) co_await refuse(decoder.refusal());
    co_return false;
  }
  request_ = std::move(decoder.request());
  body_share_ = decoder.take_share();
  is_head_ = request_.method == "HEAD";
  is_1_1_ = decoder.is_1_1();
  keeps_alive_ = decoder.keeps_alive();
  co_return true;
}

asio::awaitable<bool> ServerConnection::read_until_done(RequestDecoder& decoder) {
  const auto& options = state_->options;
  bool has_head = false;
  SteadyTime arrival_end = SteadyTime::min();
  error_code error;
  if (pending_.empty()) {
    read_into(decoder, error);
  } else {
    pending_.erase(0, decoder.feed(pending_));
  }
  while (!error && !decoder.done() && decoder.refusal().status == 0) {
    if (decoder.has_head() && !has_head) {
      has_head = true;
      arrival_end = SteadyTime::min();
      if (!co_await welcome(decoder)) co_return false;
    }
    if (arrival_end == SteadyTime::min()) {
      arrival_end = after(has_head ? options.body_timeout : options.header_timeout);
    }
    set_deadline(arrival_end, Expiry::wakes);  // The socket stays open for the 408.
    error = co_await wait_readable();
    if (expired()) {
      forget_expiry();
      co_await refuse({408, "the request did not arrive in time"});
      co_return false;
    }
    if (!error) read_into(decoder, error);
  }
  set_deadline(SteadyTime::max());
  co_return decoder.done() && decoder.refusal().status == 0;
}

// Whether a body that has not come whole is waited for. Says so to a client that asks first.
asio::awaitable<bool> ServerConnection::welcome(RequestDecoder& decoder) {
  if (state_->options.admit) {
    if (auto answer = state_->options.admit(decoder.request())) {
      co_await refuse_with(std::move(*answer));
      co_return false;
    }
  }
  if (decoder.expects_continue() && pending_.empty()) {
    co_return co_await send("HTTP/1.1 100 Continue\r\n\r\n");
  }
  co_return true;
}

// After the handler. False when the connection may not be used again.
asio::awaitable<bool> ServerConnection::finish_answer(bool failed) {
  is_watched_ = false;
  request_ = {};
  body_share_ = {};
  set_deadline(SteadyTime::max());
  if (!socket().is_open() || (is_gone_ && answer_ == Answer::none)) co_return false;
  if (answer_ == Answer::none) {
    keeps_alive_ = keeps_alive_ && !failed;
    if (!co_await respond(state_->refusal(500, "the server failed to answer"))) co_return false;
  }
  if (answer_ == Answer::begun) {
    is_1_1_ ? close() : reset();  // Without its last chunk the answer is seen to be cut.
    co_return false;
  }
  if (keeps_alive_ && !state_->stopping) co_return true;
  co_await close_gently();
  co_return false;
}

// A client that is refused in the middle of its request: the answer arrives only if what it still
// sends is read.
asio::awaitable<void> ServerConnection::close_gently() {
  error_code error;
  socket().shutdown(asio::ip::tcp::socket::shutdown_send, error);
  set_deadline(after(kLastWait));
  const std::size_t most = state_->options.max_body_bytes + kLastBytes;
  for (std::size_t size = 0; !error && size < most;) {
    error = co_await wait_readable();
    if (error) break;
    size += read_now(state_->scratch, error);
    if (error == asio::error::would_block) error = {};
  }
}

asio::awaitable<void> ServerConnection::refuse(Refusal refusal) {
  co_await refuse_with(state_->refusal(refusal.status, refusal.message));
}

asio::awaitable<void> ServerConnection::refuse_with(Response response) {
  answer_ = Answer::none;
  keeps_alive_ = false;
  is_head_ = false;
  if (co_await respond(std::move(response))) co_await close_gently();
}

asio::awaitable<void> ServerConnection::closed() {
  while (socket().is_open() && pending_.size() < kMaxAhead) {
    error_code error = co_await wait_readable();
    if (error == asio::error::operation_aborted && socket().is_open()) co_return;  // Cancelled.
    if (!error) read_ahead(error);
    if (error) {
      keeps_alive_ = false;
      is_gone_ = true;
      co_return;
    }
  }
  if (socket().is_open()) co_await sleep();
}

void ServerConnection::interrupt_when(Until until) {
  until_ = until;
  is_watched_ = true;
  stop_timer();  // Nothing but the wait itself is kept for a client that is merely watched.
  watch();
}

bool ServerConnection::is_wanted() const {
  return !is_gone_ && socket().is_open() &&
         !(is_watched_ && until_ == Until::server_stops && state_->stopping);
}

void ServerConnection::watch() {
  if (has_watcher_ || pending_.size() >= kMaxAhead) return;
  has_watcher_ = true;
  socket().async_wait(asio::ip::tcp::socket::wait_read,
                      [self = self()](const error_code& error) { self->on_watched(error); });
}

void ServerConnection::on_watched(error_code error) {
  has_watcher_ = false;
  if (!is_watched_) return;
  if (!error && read_ahead(error)) return watch();
  is_gone_ = true;
  keeps_alive_ = false;
  interrupt_.emit(asio::cancellation_type::terminal);
}

void ServerConnection::on_stop() {
  if (is_idle_) return close();
  if (is_watched_ && until_ == Until::server_stops) {
    interrupt_.emit(asio::cancellation_type::terminal);
  }
}

}  // namespace treaty::http
