// One connection of the server: reads requests, has them handled, one after the other.
#pragma once

#include <set>
#include <vector>

#include "treaty/http/net/channel.h"
#include "treaty/http/server.h"
#include "treaty/http/wire/request_decoder.h"

namespace treaty::http {

class Session;

// What the sessions of a server share.
class Hall {
 public:
  Hall(Handler the_handler, ServerOptions the_options)
      : handler(std::move(the_handler)), options(the_options) {}

  Handler handler;
  ServerOptions options;
  std::set<Session*> sessions{};
  bool stopping = false;
  std::vector<char> scratch = std::vector<char>(std::size_t{64} << 10U);  // Never across a wait.

  // The value of Date, made once a second.
  std::string_view date();

 private:
  std::int64_t date_second_ = -1;
  std::string date_{};
};

class Session final : public Channel, public Exchange {
 public:
  Session(boost::asio::ip::tcp::socket socket, std::shared_ptr<Hall> hall);
  ~Session() override;

  // The life of a connection. Keeps itself and the hall alive.
  static boost::asio::awaitable<void> run(std::shared_ptr<Session> session);

  // Answers 503 and closes.
  static boost::asio::awaitable<void> turn_away(std::shared_ptr<Session> session);

  bool is_idle() const { return is_idle_; }

  const Request& request() const override { return request_; }
  boost::asio::awaitable<bool> respond(Response response) override;
  boost::asio::awaitable<bool> begin(int status, Headers headers) override;
  boost::asio::awaitable<bool> write(std::string_view bytes) override;
  boost::asio::awaitable<bool> end() override;
  boost::asio::awaitable<bool> write_raw(std::string_view bytes) override;
  void abort(bool reset) override;
  boost::asio::awaitable<void> closed() override;

 private:
  enum class Answer { none, begun, whole };

  boost::asio::awaitable<bool> read_request();
  boost::asio::awaitable<bool> read_until_done(RequestDecoder& decoder);
  boost::asio::awaitable<bool> handle();
  boost::asio::awaitable<bool> send(std::string_view bytes);
  boost::asio::awaitable<void> refuse(Refusal refusal);
  boost::asio::awaitable<void> close_gently();
  bool read_more(boost::system::error_code& error);
  void append_head(std::string& out, int status, const Headers& headers);
  bool has_body(int status) const;

  std::shared_ptr<Hall> hall_;
  std::string pending_{};  // Bytes that came and are not part of a request yet.
  std::string out_{};
  Request request_{};
  Answer answer_ = Answer::none;
  int status_ = 0;
  bool is_1_1_ = true;
  bool keeps_alive_ = true;
  bool is_idle_ = false;
};

}  // namespace treaty::http
