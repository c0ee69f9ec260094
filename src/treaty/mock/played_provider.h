// A provider that is played: every request gets a plan, from a script or from recordings.
#pragma once

#include <cstdint>
#include <optional>

#include "treaty/backends/scripted/script_player.h"
#include "treaty/http/message.h"
#include "treaty/mock/plan.h"
#include "treaty/mock/recordings.h"

namespace treaty::mock {

// Opens no socket and asks no clock. Not for use by several threads at once.
class PlayedProvider {
 public:
  PlayedProvider(backends::Script script, std::uint64_t seed)
      : player_(std::move(script)), ids_(seed) {}
  PlayedProvider(Recordings recordings, std::uint64_t seed)
      : player_({}), recordings_(std::move(recordings)), ids_(seed) {}

  // `now` in seconds since 1970.
  Plan answer(const http::Request& request, std::int64_t now);

 private:
  Plan answer_route(const http::Request& request, const Route& route, std::int64_t now);
  Plan answer_models(const Route& route);
  Plan answer_reply(const backends::Reply& reply, const Question& question, const Route& route,
                    std::int64_t now);
  Plan refuse(int status, std::string message, Endpoint endpoint);
  Plan refuse(const backends::ScriptedError& error, Endpoint endpoint);
  bool presents_key(const http::Request& request) const;
  // With the rate limits of `now`; without any for what costs none: refusals, lists.
  Headers headers_for(Endpoint endpoint, std::optional<std::int64_t> now);

  backends::ScriptPlayer player_;
  std::optional<Recordings> recordings_{};
  Ids ids_;
};

}  // namespace treaty::mock
