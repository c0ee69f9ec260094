// The half of a connection that answers.
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/beast/http/status.hpp>
#include <iterator>

#include "treaty/base/text.h"
#include "treaty/http/server_connection.h"

namespace treaty::http {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

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
