// Fuzzes the reading of HTTP requests: however the bytes are cut, the same requests come out one
// after the other up to the same refusal, and never more than the limits. The first three bytes
// choose limits and cuts.
#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "require.h"
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

struct Job {
  std::string_view bytes;
  RequestLimits limits;
};

Read taken_from(RequestDecoder& decoder, const RequestLimits& limits) {
  Request& request = decoder.request();
  require(decoder.has_head() && !request.method.empty() && !request.target.empty());
  require(request.body.size() <= limits.max_body_bytes);
  return {request.method,        request.target,   request.headers,           request.body,
          decoder.keeps_alive(), decoder.is_1_1(), decoder.expects_continue()};
}

// A seed of 0 does not cut.
Told read(const Job& job, unsigned seed) {
  Told told;
  std::string pending;
  std::size_t at = 0;
  auto decoder = std::make_unique<RequestDecoder>(job.limits);
  while (!told.refused) {
    const auto piece = std::make_unique<std::string>(pending);
    pending.erase(0, decoder->feed(*piece));
    if (decoder->done()) {
      told.requests.push_back(taken_from(*decoder, job.limits));
      decoder = std::make_unique<RequestDecoder>(job.limits);
      continue;
    }
    told.refused = decoder->refusal().status != 0;
    require(told.refused != decoder->refusal().message.empty());
    // What is waiting for more is bounded.
    require(told.refused || pending.size() <= job.limits.max_header_bytes + 4);
    if (at == job.bytes.size()) break;
    std::size_t size = job.bytes.size();
    if (seed != 0) {
      seed = seed * 1664525U + 1013904223U;
      size = std::size_t{1} + (seed >> 24U) % 17U;
    }
    pending += job.bytes.substr(at, size);
    at = std::min(at + size, job.bytes.size());
  }
  return told;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fuzz::as_text(data, size);
  if (input.size() < 3) return 0;
  const auto first = static_cast<unsigned char>(input[0]);
  const auto second = static_cast<unsigned char>(input[1]);
  const auto third = static_cast<unsigned char>(input[2]);
  const Job job{.bytes = input.substr(3),
                .limits = {.max_header_bytes = 64 + 8 * std::size_t{first},
                           .max_body_bytes = std::size_t{second} * second}};
  require(read(job, 0) == read(job, 2U * third + 1U));
  return 0;
}
