// Asks a gateway for its limits, and judges what it answers.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <expected>
#include <string>

#include "treaty/cli/limits/limits_view.h"
#include "treaty/cli/shared/remote_client.h"
#include "treaty/http/client.h"

namespace treaty::cli::limits_watch {

struct ToldLimits {
  std::string json{};  // As it was told, on one line.
  LimitsView view{};
};

struct LimitsTrouble {
  int exit_code = 0;
  std::string text{};     // For people.
  std::string next{};     // What to do about it.
  bool may_pass = false;  // By itself: whoever watches goes on trying.
};

using AnsweredLimits = std::expected<ToldLimits, LimitsTrouble>;

// Pure.
AnsweredLimits read_limits_answer(const std::expected<http::Response, http::FetchFailure>& answer);

// Belongs to the thread that runs the context.
class LimitsSource {
 public:
  LimitsSource(boost::asio::io_context& context, RemoteAddress address);

  boost::asio::awaitable<AnsweredLimits> ask();
  const std::string& address() const { return text_; }

 private:
  http::Url url_;
  std::string text_;
  std::string key_;
  http::Client client_;
};

}  // namespace treaty::cli::limits_watch
