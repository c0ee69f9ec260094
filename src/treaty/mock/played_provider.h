// A provider that is played: every request gets a plan, from a script or from recordings.
#pragma once

#include <cstdint>
#include <optional>

#include "treaty/backends/scripted/script_player.h"
#include "treaty/http/message.h"
#include "treaty/mock/plan.h"
#include "treaty/mock/prompt_cache.h"
#include "treaty/mock/recordings.h"
#include "treaty/mock/route.h"

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
  Plan answer_recorded(const http::Request& request, const ProviderRoute& route);
  Plan answer_scripted(const http::Request& request, const ProviderRoute& route, std::int64_t now);
  Plan answer_models(const std::string& model);
  Plan refuse(int status, std::string message, const backends::Protocol& protocol);
  Plan refuse(const backends::ScriptedError& error, const backends::Protocol& protocol);
  bool presents_key(const http::Request& request) const;
  // With the rate limits of `now`; without any for what costs none: refusals, lists.
  Headers headers_for(const backends::Protocol& protocol, std::optional<std::int64_t> now);

  backends::ScriptPlayer player_;
  std::optional<Recordings> recordings_{};
  Ids ids_;
  PromptCache cache_{};
};

}  // namespace treaty::mock
