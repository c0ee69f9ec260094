// Fuzzes the reading of HTTP requests: however the bytes are cut, the same requests come out one
// after the other up to the same refusal, and never more than the limits. The first three bytes
// choose limits and cuts.
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "cuts.h"
#include "treaty/http/wire/request_decoder.h"

using namespace treaty;        // NOLINT: a target is one file.
using namespace treaty::http;  // NOLINT
using fuzz::require;

namespace {

// Method, target, headers, body; whether the connection lives on, the version, the expectation.
using Read = std::tuple<std::string, std::string, Headers, std::string, bool, bool, bool>;

struct Told {
  std::vector<Read> requests{};
  bool refused = false;
  bool operator==(const Told&) const = default;
};

Read taken_from(RequestDecoder& decoder, const RequestLimits& limits) {
  Request& request = decoder.request();
  require(decoder.has_head() && !request.method.empty());
  require(request.target.starts_with('/') || request.target == "*");
  require(request.body.size() <= limits.max_body_bytes);
  return {request.method,        request.target,   request.headers,           request.body,
          decoder.keeps_alive(), decoder.is_1_1(), decoder.expects_continue()};
}

Told told_of(const fuzz::Choice& choice, unsigned seed) {
  BodyMemory memory;
  const RequestLimits limits{.max_header_bytes = choice.max_header_bytes,
                             .max_body_bytes = choice.max_body_bytes,
                             .body_memory = &memory,
                             .max_body_memory = choice.max_body_bytes};
  Told told;
  std::string pending;
  fuzz::Pieces pieces(choice.bytes, seed);
  auto decoder = std::make_unique<RequestDecoder>(limits);
  while (!told.refused) {
    const auto piece = std::make_unique<std::string>(pending);
    pending.erase(0, decoder->feed(*piece));
    if (decoder->done()) {
      told.requests.push_back(taken_from(*decoder, limits));
      decoder = std::make_unique<RequestDecoder>(limits);
      continue;
    }
    told.refused = decoder->refusal().status != 0;
    require(told.refused != decoder->refusal().message.empty());
    // What is waiting for more is bounded.
    require(told.refused || pending.size() <= limits.max_header_bytes + 4);
    if (pieces.ended()) break;
    pending += *pieces.next();
  }
  decoder.reset();
  require(memory.used() == 0);
  return told;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::require_same_however_cut(data, size, told_of);
}
