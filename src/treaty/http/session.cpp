#include "treaty/http/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/beast/http/status.hpp>
#include <ctime>
#include <exception>

#include "treaty/base/json_write.h"
#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"

namespace treaty::http {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// How much a client that was refused may still send before the connection closes on it.
constexpr std::size_t kLastBytes = std::size_t{1} << 20U;
constexpr std::chrono::milliseconds kLastWait{1'000};

// How much may come while a handler waits for the client to go.
constexpr std::size_t kMaxAhead = std::size_t{64} << 10U;

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

std::string_view Hall::date() {
  const std::time_t now = std::time(nullptr);
  if (now != date_second_) {
    date_second_ = now;
    date_ = http_date(now);
  }
  return date_;
}

Session::Session(asio::ip::tcp::socket socket, std::shared_ptr<Hall> hall)
    : Channel(std::move(socket)), hall_(std::move(hall)) {
  hall_->sessions.insert(this);
}

Session::~Session() { hall_->sessions.erase(this); }

asio::awaitable<void> Session::run(std::shared_ptr<Session> session) {
  session->prepare();
  while (co_await session->read_request() && co_await session->handle()) {
  }
  session->close();
}

asio::awaitable<void> Session::turn_away(std::shared_ptr<Session> session) {
  session->prepare();
  co_await session->refuse({503, "too many connections; try again later"});
  session->close();
}

// Reads what is there into pending_. False with an error, would_block aside.
bool Session::read_more(error_code& error) {
  const std::size_t size = read_now(hall_->scratch, error);
  pending_.append(hall_->scratch.data(), size);
  if (error == asio::error::would_block) error = {};
  return !error;
}

// The next request, or false when there is none to handle and the connection may close.
asio::awaitable<bool> Session::read_request() {
  const auto& options = hall_->options;
  if (hall_->stopping) co_return false;
  RequestDecoder decoder({options.max_header_bytes, options.max_body_bytes});
  if (pending_.empty()) {
    is_idle_ = true;
    set_deadline(after(options.idle_timeout));
    error_code error = co_await wait_readable();
    is_idle_ = false;
    if (error || !read_more(error)) co_return false;
  }
  if (!co_await read_until_done(decoder)) {
    if (decoder.refusal().status != 0) co_await refuse(decoder.refusal());
    co_return false;
  }
  request_ = std::move(decoder.request());
  is_1_1_ = decoder.is_1_1();
  keeps_alive_ = decoder.keeps_alive();
  co_return true;
}

asio::awaitable<bool> Session::read_until_done(RequestDecoder& decoder) {
  const auto& options = hall_->options;
  bool continued = false;
  SteadyTime arrival_end = SteadyTime::min();
  while (true) {
    const bool had_head = decoder.has_head();
    pending_.erase(0, decoder.feed(pending_));
    if (decoder.done() || decoder.refusal().status != 0) break;
    if (decoder.has_head() && !had_head) arrival_end = SteadyTime::min();
    if (arrival_end == SteadyTime::min()) {
      arrival_end = after(decoder.has_head() ? options.body_timeout : options.header_timeout);
    }
    if (decoder.expects_continue() && !continued && pending_.empty()) {
      continued = true;
      if (!co_await send("HTTP/1.1 100 Continue\r\n\r\n")) co_return false;
    }
    set_deadline(arrival_end, Expiry::wakes);  // The socket stays open for the 408.
    error_code error = co_await wait_readable();
    if (expired()) {
      forget_expiry();
      co_await refuse({408, "the request did not arrive in time"});
      co_return false;
    }
    if (error || !read_more(error)) co_return false;
  }
  set_deadline(SteadyTime::max());
  co_return decoder.refusal().status == 0;
}

// Lets the handler answer. False when the connection may not be used again.
asio::awaitable<bool> Session::handle() {
  answer_ = Answer::none;
  bool failed = false;
  try {
    co_await hall_->handler(*this);
  } catch (const std::exception&) {
    failed = true;  // Of a library, or of a test: the connection ends, the server goes on.
  }
  set_deadline(SteadyTime::max());
  if (!socket().is_open()) co_return false;
  if (answer_ == Answer::none) {
    keeps_alive_ = keeps_alive_ && !failed;
    const bool sent = co_await respond({.status = 500,
                                        .headers = {{"content-type", "text/plain"}},
                                        .body = "the server failed to answer\n"});
    if (!sent) co_return false;
  }
  if (answer_ == Answer::begun) {
    is_1_1_ ? close() : reset();  // Without its last chunk the answer is seen to be cut.
    co_return false;
  }
  if (keeps_alive_ && !hall_->stopping) co_return true;
  co_await close_gently();
  co_return false;
}

// A client that is refused in the middle of its request: the answer arrives only if what it still
// sends is read.
asio::awaitable<void> Session::close_gently() {
  error_code error;
  socket().shutdown(asio::ip::tcp::socket::shutdown_send, error);
  set_deadline(after(kLastWait));
  for (std::size_t size = 0; !error && size < kLastBytes;) {
    error = co_await wait_readable();
    if (error) break;
    size += read_now(hall_->scratch, error);
    if (error == asio::error::would_block) error = {};
  }
}

asio::awaitable<void> Session::refuse(Refusal refusal) {
  answer_ = Answer::none;
  keeps_alive_ = false;
  request_ = {};
  std::string body = fmt::format("{{\"error\":{{\"status\":{},\"message\":", refusal.status);
  json::append_quoted(body, refusal.message);
  body += "}}\n";
  Headers headers{{"content-type", "application/json"}};
  if (refusal.status == 503) headers.add("retry-after", "1");
  if (co_await respond({.status = refusal.status, .headers = headers, .body = std::move(body)})) {
    co_await close_gently();
  }
}

asio::awaitable<bool> Session::send(std::string_view bytes) {
  while (!bytes.empty()) {
    error_code error;
    bytes.remove_prefix(write_now(bytes, error));
    if (!error) continue;
    if (error == asio::error::would_block) {
      set_deadline(after(hall_->options.write_timeout));
      error = co_await wait_writable();
      set_deadline(SteadyTime::max());
    }
    if (error) {
      close();
      co_return false;
    }
  }
  co_return true;
}

void Session::append_head(std::string& out, int status, const Headers& headers) {
  if (equal_folded(headers.get("connection"), "close") || hall_->stopping) keeps_alive_ = false;
  out += fmt::format("HTTP/1.1 {} {}\r\n", status, reason_of(status));
  for (const HeaderField& field : headers) {
    if (!is_framing(field.name)) append_field(out, field.name, field.value);
  }
  if (headers.find("date") == nullptr) append_field(out, "date", hall_->date());
  if (!keeps_alive_) out += "connection: close\r\n";
  if (keeps_alive_ && !is_1_1_) out += "connection: keep-alive\r\n";
}

bool Session::has_body(int status) const {
  return request_.method != "HEAD" && status >= 200 && status != 204 && status != 304;
}

asio::awaitable<bool> Session::respond(Response response) {
  if (answer_ != Answer::none || !socket().is_open()) co_return false;
  answer_ = Answer::whole;
  out_.clear();
  append_head(out_, response.status, response.headers);
  if (response.status >= 200 && response.status != 204) {
    out_ += fmt::format("content-length: {}\r\n", response.body.size());
  }
  out_ += "\r\n";
  if (has_body(response.status)) out_ += response.body;
  co_return co_await send(out_);
}

asio::awaitable<bool> Session::begin(int status, Headers headers) {
  if (answer_ != Answer::none || !socket().is_open()) co_return false;
  answer_ = Answer::begun;
  status_ = status;
  if (!is_1_1_) keeps_alive_ = false;  // The end of the connection is the end of the answer.
  out_.clear();
  append_head(out_, status, headers);
  if (is_1_1_ && status >= 200 && status != 204) out_ += "transfer-encoding: chunked\r\n";
  out_ += "\r\n";
  co_return co_await send(out_);
}

asio::awaitable<bool> Session::write(std::string_view bytes) {
  if (answer_ != Answer::begun || !socket().is_open()) co_return false;
  if (bytes.empty() || !has_body(status_)) co_return true;
  if (!is_1_1_) co_return co_await send(bytes);
  out_.clear();
  fmt::format_to(std::back_inserter(out_), "{:x}\r\n", bytes.size());
  out_.append(bytes).append("\r\n");
  co_return co_await send(out_);
}

asio::awaitable<bool> Session::end() {
  if (answer_ != Answer::begun || !socket().is_open()) co_return false;
  answer_ = Answer::whole;
  if (!is_1_1_ || !has_body(status_)) co_return true;
  co_return co_await send("0\r\n\r\n");
}

asio::awaitable<bool> Session::write_raw(std::string_view bytes) {
  if (!socket().is_open()) co_return false;
  keeps_alive_ = false;
  answer_ = Answer::whole;
  co_return co_await send(bytes);
}

void Session::abort(bool with_reset) {
  keeps_alive_ = false;
  with_reset ? reset() : close();
}

asio::awaitable<void> Session::closed() {
  while (socket().is_open() && pending_.size() < kMaxAhead) {
    error_code error = co_await wait_readable();
    if (error == asio::error::operation_aborted && socket().is_open()) co_return;  // Cancelled.
    if (!error) read_more(error);
    if (error) {
      keeps_alive_ = false;
      co_return;
    }
  }
  if (socket().is_open()) co_await sleep();
}

}  // namespace treaty::http
