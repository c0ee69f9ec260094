// Fuzzes the reading of HTTP answers: however the bytes are cut, sink and caller are told the same,
// and never more than the limit. The first three bytes choose method, limits and cuts.
#include <memory>
#include <string>
#include <tuple>

#include "require.h"
#include "treaty/http/wire/response_decoder.h"

using namespace treaty;        // NOLINT: a target is one file.
using namespace treaty::http;  // NOLINT
using fuzz::require;

namespace {

struct Sink final : ResponseSink {
  Response answer{.status = 0};
  std::size_t limit = 0;
  int heads = 0;

  void on_head(const Response& head) override {
    require(++heads == 1);
    require(head.status >= 200 && head.status <= 999 && head.body.empty());
    answer = head;
  }
  bool on_body(std::string_view bytes) override {
    require(heads == 1 && !bytes.empty());
    answer.body += bytes;
    require(answer.body.size() <= limit);
    return true;
  }
};

// Status, headers, body, then the failure or none, and whether the connection lives on.
using Told = std::tuple<int, Headers, std::string, int, bool>;

// A line that is both too long and wrong may be called either, by what was seen of it first.
int kind_of(const std::expected<void, Failure>& ended) {
  if (ended) return -1;
  const bool is_bad = ended.error().kind == FailureKind::too_large;
  return static_cast<int>(is_bad ? FailureKind::malformed : ended.error().kind);
}

struct Job {
  std::string_view bytes;
  FetchOptions options;
  bool to_head;
};

// A seed of 0 does not cut.
Told read(const Job& job, unsigned seed) {
  Sink sink;
  sink.limit = job.options.max_body_bytes;
  ResponseDecoder decoder(sink, job.options, job.to_head);
  std::expected<bool, Failure> fed = false;
  std::size_t at = 0;
  while (at < job.bytes.size() && fed && !*fed) {
    std::size_t size = job.bytes.size();
    if (seed != 0) {
      seed = seed * 1664525U + 1013904223U;
      size = std::size_t{1} + (seed >> 24U) % 17U;
    }
    const auto piece = std::make_unique<std::string>(job.bytes.substr(at, size));
    at += piece->size();
    fed = decoder.feed(*piece);
  }
  std::expected<void, Failure> ended{};
  if (!fed) ended = std::unexpected(fed.error());
  if (fed && !*fed) ended = decoder.finish();
  require(ended || !ended.error().message.empty());
  // Whether bytes follow the answer is seen only when they come with its end.
  const bool is_all = at == job.bytes.size();
  return {sink.answer.status, sink.answer.headers, sink.answer.body, kind_of(ended),
          is_all && decoder.keeps_alive()};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fuzz::as_text(data, size);
  if (input.size() < 3) return 0;
  const auto first = static_cast<unsigned char>(input[0]);
  const auto second = static_cast<unsigned char>(input[1]);
  const auto third = static_cast<unsigned char>(input[2]);
  const Job job{.bytes = input.substr(3),
                .options = {.max_header_bytes = 64 + 8 * std::size_t{first},
                            .max_body_bytes = std::size_t{second} * second},
                .to_head = (third & 1U) != 0};
  require(read(job, 0) == read(job, 2U * third + 1U));
  return 0;
}
