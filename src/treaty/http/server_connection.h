// One connection of the server: reads requests, has them handled, one after the other.
#pragma once

#include <boost/asio/cancellation_signal.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "treaty/http/net/channel.h"
#include "treaty/http/server.h"
#include "treaty/http/wire/request_decoder.h"

namespace treaty::http {

class ServerConnection;

// What a server and its connections share.
class ServerState {
 public:
  ServerState(boost::asio::io_context& context, Handler the_handler, ServerOptions the_options)
      : acceptor(context),
        accept_pause(context),
        handler(std::move(the_handler)),
        options(std::move(the_options)),
        load(options.load ? options.load : std::make_shared<ServerLoad>()) {}

  boost::asio::ip::tcp::acceptor acceptor;
  boost::asio::steady_timer accept_pause;  // Before accepting again, when file descriptors ran out.
  Handler handler;
  ServerOptions options;
  const std::shared_ptr<ServerLoad> load;
  std::vector<ServerConnection*> connections{};  // Each knows its place.
  bool stopping = false;

  // Used by one connection at a time, never across a wait: a connection that waits holds no buffer.
  std::vector<char> scratch = std::vector<char>(std::size_t{64} << 10U);
  std::string out{};

  // The value of Date, made once a second.
  std::string_view date();

  Response refusal(int status, std::string_view message) const;

 private:
  std::int64_t date_second_ = -1;
  std::string date_{};
};

class ServerConnection final : public Channel, public Exchange {
 public:
  ServerConnection(boost::asio::ip::tcp::socket socket, std::shared_ptr<ServerState> state);
  ~ServerConnection() override;

  // Begins the life of a connection, which keeps itself and the state alive.
  static void start(const std::shared_ptr<ServerConnection>& connection);

  // Answers 503 and closes.
  static void turn_away(const std::shared_ptr<ServerConnection>& connection);

  std::shared_ptr<ServerConnection> self() {
    return std::static_pointer_cast<ServerConnection>(shared_from_this());
  }

  // The server is gone in a moment: a client that has seen nothing of an answer is told so.
  void abandon();

  // The server stops: closes what is idle, interrupts who asked for it.
  void on_stop();

  const Request& request() const override { return request_; }
  Request take_request() override { return std::exchange(request_, {}); }
  boost::asio::awaitable<bool> respond(Response response) override;
  boost::asio::awaitable<bool> begin(int status, Headers headers) override;
  boost::asio::awaitable<bool> write(std::string_view bytes) override;
  boost::asio::awaitable<bool> end() override;
  boost::asio::awaitable<bool> write_raw(std::string_view bytes) override;
  void abort(bool reset) override;
  boost::asio::awaitable<void> closed() override;
  void interrupt_when(Until until) override;
  bool is_wanted() const override;

 private:
  enum class Answer : std::uint8_t { none, begun, whole };

  boost::asio::awaitable<void> live();
  boost::asio::awaitable<bool> wait_idle();
  boost::asio::awaitable<bool> read_request();
  boost::asio::awaitable<bool> read_until_done(RequestDecoder& decoder);
  boost::asio::awaitable<bool> finish_answer(bool failed);
  boost::asio::awaitable<bool> welcome(RequestDecoder& decoder);
  boost::asio::awaitable<bool> send(std::string_view bytes);
  boost::asio::awaitable<void> refuse(Refusal refusal);
  boost::asio::awaitable<void> refuse_with(Response response);
  boost::asio::awaitable<void> close_gently();
  bool read_ahead(boost::system::error_code& error);
  bool read_into(RequestDecoder& decoder, boost::system::error_code& error);
  std::string send_out();
  void watch();
  void on_watched(boost::system::error_code error);
  void watch_for_reset();
  void on_reset_watched();
  bool is_broken();
  void append_head(std::string& out, int status, const Headers& headers);
  bool compose(const Response& response);
  bool has_body() const;

  std::shared_ptr<ServerState> state_;
  std::string pending_{};  // Bytes that came and are not part of a request yet.
  Request request_{};
  BodyShare body_share_{};  // Until the request is answered, whoever has its body by then.
  boost::asio::cancellation_signal interrupt_{};
  std::size_t place_;  // Among the connections of the state.
  int status_ = 0;
  Answer answer_ = Answer::none;
  Until until_ = Until::client_goes;
  bool is_head_ = false;
  bool is_1_1_ = true;
  bool keeps_alive_ = true;
  bool is_idle_ = false;
  bool is_gone_ = false;      // The client has closed its half of the connection, or all of it.
  bool is_reset_ = false;     // The connection is broken: nothing can be written to the client.
  bool is_watched_ = false;   // For its going, on behalf of the handler.
  bool has_watcher_ = false;  // A wait is under way; it may outlive its exchange.
  bool has_reset_watcher_ = false;  // The same.
};

}  // namespace treaty::http
