// Recorded exchanges, played back: the answer that was given to the most similar request.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/backends/recording.h"
#include "treaty/base/error.h"
#include "treaty/http/message.h"
#include "treaty/mock/plan.h"
#include "treaty/mock/route.h"

namespace treaty::mock {

// A recorded exchange and what it is found by.
struct Track {
  backends::Recording recording{};
  std::string path{};
  std::string model{};
  std::string request_body{};  // Without white space; empty: none was recorded.
  bool stream = false;
};

// Refuses what cannot be played: no answer, or no word on which endpoint gave it.
std::expected<Track, Error> read_track(std::string_view json);

// Not for use by several threads at once.
class Recordings {
 public:
  explicit Recordings(std::vector<Track> tracks);

  // Null when none has the endpoint and the stream flag of the request. Of those that have, the
  // most similar (the body, then the model, then the path); of equals, the one played least.
  const Track* find(const http::Request& request, const ProviderRoute& route);

 private:
  std::vector<Track> tracks_;
  std::vector<std::size_t> played_;
};

// The recorded answer, event by event.
Whole whole_of(const Track& track);

}  // namespace treaty::mock
