// A gateway behind an address: requests over HTTP, answers as event streams. A connection that
// breaks is taken up again: before the turn has a name by the same request, which is safe to
// repeat, and after that where the stream was cut.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "treaty/cli/command_line.h"
#include "treaty/cli/shared/conversation.h"
#include "treaty/cli/shared/remote_round.h"
#include "treaty/cli/shared/signals.h"
#include "treaty/http/client.h"

namespace treaty::cli {

struct RemoteAddress {
  http::Url url{};            // Its target is what stands before /v1.
  std::string text{};         // As the user wrote it.
  std::string key{};          // For `Authorization: Bearer`; empty: none.
  bool through_proxy = true;  // When the environment names one.

  http::Url url_of(std::string_view path) const;
  void sign(http::Request& request) const;  // Who asks, and by what right.
};

// --url and --key-env, for commands that talk to a gateway.
std::vector<Option> remote_options();

// Nothing when the gateway of this process is meant.
Result<std::optional<RemoteAddress>> read_remote_address(const Arguments& arguments);

class RemoteClient : public GatewayClient {
 public:
  RemoteClient(RemoteAddress address, Signals& signals, OnTurnEvent on_event = {});

  TurnAnswer ask(const contracts::AgentExecuteRequest& request, const OnText& on_text) override;
  bool cancel(const std::string& session_id, const std::string& turn_id) override;
  std::expected<std::optional<OpenTurn>, ClientFailure> open_turn(
      const std::string& session_id) override;
  std::expected<OpenedSession, ClientFailure> open_session(const std::string& agent) override;
  std::expected<contracts::AgentResult, ClientFailure> agent_result(
      const std::string& session_id, const std::string& turn_id) override;

  // One that goes on from a turn of another; empty turn_id: from its newest.
  std::expected<OpenedSession, ClientFailure> branch(const std::string& session_id,
                                                     const std::string& turn_id);

 private:
  template <class T>
  using Task = boost::asio::awaitable<T>;
  using Fetched = std::expected<http::Response, http::FetchFailure>;

  Task<void> converse(RemoteRound& round);
  Task<void> cancel_until_heard(const RemoteRound& round);
  Task<void> follow_diary(std::string session_id);
  void tell_pause(std::chrono::milliseconds pause, const RemoteRound& round) const;
  Task<Fetched> post(std::string path, std::string body);
  Task<Fetched> send(std::string path, http::Request request, http::FetchOptions options);
  Fetched run_until_signal(Task<Fetched> task);
  std::expected<http::Response, ClientFailure> answer_to(Task<Fetched> task);
  // The body; nothing when there is no such thing.
  std::expected<std::optional<std::string>, ClientFailure> look_up(
      const std::string& path, const http::FetchOptions& options);
  std::expected<OpenedSession, ClientFailure> open(const std::string& path,
                                                   const std::string& body);
  void complete(http::Request& request) const;

  RemoteAddress address_;
  Signals& signals_;
  OnTurnEvent on_event_;
  std::string diary_session_{};     // The session whose diary was followed last,
  std::string last_diary_event_{};  // and the id of its last entry.
  boost::asio::io_context context_{1};
  http::Client client_;
  bool was_reached_ = false;  // Somebody has answered there before.
};

}  // namespace treaty::cli
