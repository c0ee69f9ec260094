#include "treaty/http/server_connection.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/beast/http/status.hpp>
#include <ctime>
#include <exception>
#include <iterator>

#include "treaty/base/json_write.h"
#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"

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

// A body up to this size goes out in one piece with its head.
constexpr std::size_t kCopied = std::size_t{32} << 10U;

// What the shared buffer may keep from one answer to the next.
constexpr std::size_t kKept = std::size_t{256} << 10U;

std::string_view reason_of(int status) {
  const auto reason = boost::beast::http::obsolete_reason(
      boost::beast::http::int_to_status(static_cast<unsigned>(status)));
  return {reason.data(), reason.size()};
}

// Framing is the server's own.
bool is_framing(std::string_view name) {
  return name == "content-length" || name == "transfer-encoding" || name == "connection";
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ");
  const std::size_t begin = out.size();
  out.append(value);
  std::replace_if(
      out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(),
      [](char c) { return c == '\r' || c == '\n' || c == '\0'; }, ' ');
  out.append("\r\n");
}

}  // namespace

std::string_view ServerState::date() {
  const std::time_t now = std::time(nullptr);
  if (now != date_second_) {
    date_second_ = now;
    date_ = http_date(now);
  }
  return date_;
}

Response ServerState::refusal(int status, std::string_view message) const {
  Response response{.status = status};
  if (options.refusal) {
    response = options.refusal(status, message);
  } else {
    response.body = fmt::format("{{\"error\":{{\"status\":{},\"message\":", status);
    json::append_quoted(response.body, message);
    response.body += "}}\n";
    response.headers.add("content-type", "application/json");
  }
  if (status == 503 && response.headers.find("retry-after") == nullptr) {
    response.headers.add("retry-after", "1");
  }
  return response;
}

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
  until_ == Until::connection_breaks ? watch_for_reset() : watch();
}

bool ServerConnection::is_wanted() const {
  if (is_reset_ || !socket().is_open()) return false;
  if (is_watched_ && until_ == Until::connection_breaks) return true;
  return !is_gone_ && !(is_watched_ && until_ == Until::server_stops && state_->stopping);
}

void ServerConnection::watch() {
  if (has_watcher_ || pending_.size() >= kMaxAhead) return;
  has_watcher_ = true;
  socket().async_wait(asio::ip::tcp::socket::wait_read,
                      [self = self()](const error_code& error) { self->on_watched(error); });
}

void ServerConnection::on_watched(error_code error) {
  has_watcher_ = false;
  if (!is_watched_ || until_ == Until::connection_breaks) return;
  if (!error && read_ahead(error)) return watch();
  is_gone_ = true;
  is_reset_ = is_broken();
  keeps_alive_ = false;
  interrupt_.emit(asio::cancellation_type::terminal);
}

// Neither bytes that the client sends meanwhile nor the end of its half of the connection matter.
void ServerConnection::watch_for_reset() {
  if (has_reset_watcher_) return;
  has_reset_watcher_ = true;
  socket().async_wait(asio::ip::tcp::socket::wait_error,
                      [self = self()](const error_code&) { self->on_reset_watched(); });
}

void ServerConnection::on_reset_watched() {
  has_reset_watcher_ = false;
  if (!is_watched_ || until_ != Until::connection_breaks) return;
  if (!is_broken()) return;  // Urgent data, which would wake this again and again: not watched.
  is_gone_ = is_reset_ = true;
  keeps_alive_ = false;
  interrupt_.emit(asio::cancellation_type::terminal);
}

bool ServerConnection::is_broken() {
  if (!socket().is_open()) return true;
  struct pollfd state{.fd = socket().native_handle(), .events = 0, .revents = 0};
  return ::poll(&state, 1, 0) > 0;  // Without events: an error or the end of both halves.
}

void ServerConnection::on_stop() {
  if (is_idle_) return close();
  if (is_watched_ && until_ == Until::server_stops) {
    interrupt_.emit(asio::cancellation_type::terminal);
  }
}

// Sends what is in the shared buffer as far as it goes at once, and answers what is left.
std::string ServerConnection::send_out() {
  std::string& out = state_->out;
  error_code error;
  const std::size_t sent = write_now(out, error);
  std::string rest;
  if (error && error != asio::error::would_block) {
    close();
  } else if (sent < out.size()) {
    rest = out.substr(sent);
  }
  if (out.capacity() > kKept) out = std::string();
  return rest;
}

asio::awaitable<bool> ServerConnection::send(std::string_view bytes) {
  while (!bytes.empty()) {
    error_code error;
    bytes.remove_prefix(write_now(bytes, error));
    if (!error) continue;
    if (error == asio::error::would_block) {
      set_deadline(after(state_->options.write_timeout));
      error = co_await wait_writable();
      set_deadline(SteadyTime::max());
    }
    if (error) {
      close();
      co_return false;
    }
  }
  co_return socket().is_open();
}

void ServerConnection::append_head(std::string& out, int status, const Headers& headers) {
  if (equal_folded(headers.get("connection"), "close") || state_->stopping) keeps_alive_ = false;
  out += fmt::format("HTTP/1.1 {} {}\r\n", status, reason_of(status));
  for (const HeaderField& field : headers) {
    if (!is_framing(field.name)) append_field(out, field.name, field.value);
  }
  if (headers.find("date") == nullptr) append_field(out, "date", state_->date());
  if (!keeps_alive_) out += "connection: close\r\n";
  if (keeps_alive_ && !is_1_1_) out += "connection: keep-alive\r\n";
}

bool ServerConnection::has_body() const {
  return !is_head_ && status_ >= 200 && status_ != 204 && status_ != 304;
}

// Fills the shared buffer with a whole answer. True when its body is long and has to follow.
bool ServerConnection::compose(const Response& response) {
  answer_ = Answer::whole;
  status_ = response.status;
  std::string& out = state_->out;
  out.clear();
  append_head(out, status_, response.headers);
  if (status_ >= 200 && status_ != 204) {
    fmt::format_to(std::back_inserter(out), "content-length: {}\r\n", response.body.size());
  }
  out += "\r\n";
  const bool has_long_body = has_body() && response.body.size() > kCopied;
  if (has_body() && !has_long_body) out += response.body;
  return has_long_body;
}

asio::awaitable<bool> ServerConnection::respond(Response response) {
  if (answer_ != Answer::none || !socket().is_open()) co_return false;
  const bool has_long_body = compose(response);
  const std::string rest = send_out();
  if (!co_await send(rest)) co_return false;
  co_return !has_long_body || co_await send(response.body);
}

asio::awaitable<bool> ServerConnection::begin(int status, Headers headers) {
  if (answer_ != Answer::none || !socket().is_open()) co_return false;
  answer_ = Answer::begun;
  status_ = status;
  if (!is_1_1_) keeps_alive_ = false;  // The end of the connection is the end of the answer.
  std::string& out = state_->out;
  out.clear();
  append_head(out, status, headers);
  if (is_1_1_ && status >= 200 && status != 204) out += "transfer-encoding: chunked\r\n";
  out += "\r\n";
  const std::string rest = send_out();
  co_return co_await send(rest);
}

asio::awaitable<bool> ServerConnection::write(std::string_view bytes) {
  if (answer_ != Answer::begun || !socket().is_open()) co_return false;
  if (bytes.empty() || !has_body()) co_return true;
  if (!is_1_1_) co_return co_await send(bytes);
  std::string& out = state_->out;
  out.clear();
  fmt::format_to(std::back_inserter(out), "{:x}\r\n", bytes.size());
  const bool is_long = bytes.size() > kCopied;  // Then it stays the handler's while it goes out.
  if (!is_long) out.append(bytes).append("\r\n");
  const std::string rest = send_out();
  if (!rest.empty() && !co_await send(rest)) co_return false;
  if (is_long) co_return co_await send(bytes) && co_await send("\r\n");
  co_return socket().is_open();
}

asio::awaitable<bool> ServerConnection::end() {
  if (answer_ != Answer::begun || !socket().is_open()) co_return false;
  answer_ = Answer::whole;
  if (!is_1_1_ || !has_body()) co_return true;
  co_return co_await send("0\r\n\r\n");
}

asio::awaitable<bool> ServerConnection::write_raw(std::string_view bytes) {
  if (!socket().is_open()) co_return false;
  keeps_alive_ = false;
  answer_ = Answer::whole;
  co_return co_await send(bytes);
}

void ServerConnection::abandon() {
  if (answer_ == Answer::none && !is_idle_ && socket().is_open()) {
    keeps_alive_ = false;
    compose(
        state_->refusal(503, "the server is stopping; send the same request again in a moment"));
    send_out();  // What does not go at once does not go.
  }
  close();
}

void ServerConnection::abort(bool with_reset) {
  keeps_alive_ = false;
  with_reset ? reset() : close();
}

}  // namespace treaty::http
