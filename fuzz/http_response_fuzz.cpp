// Fuzzes the reading of HTTP answers: however the bytes are cut, sink and caller are told the same,
// and never more than the limit. The first three bytes choose method, limits and cuts.
#include <string>
#include <tuple>

#include "cuts.h"
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
int kind_of(const std::expected<void, FetchFailure>& ended) {
  if (ended) return -1;
  const bool is_bad = ended.error().kind == FailureKind::too_large;
  return static_cast<int>(is_bad ? FailureKind::malformed : ended.error().kind);
}

Told told_of(const fuzz::Choice& choice, unsigned seed) {
  Sink sink;
  sink.limit = choice.max_body_bytes;
  const FetchOptions options{.max_header_bytes = choice.max_header_bytes,
                             .max_body_bytes = choice.max_body_bytes};
  ResponseDecoder decoder(sink, options, (choice.last & 1U) != 0);
  std::expected<bool, FetchFailure> fed = false;
  fuzz::Pieces pieces(choice.bytes, seed);
  while (!pieces.ended() && fed && !*fed) fed = decoder.feed(*pieces.next());
  std::expected<void, FetchFailure> ended{};
  if (!fed) ended = std::unexpected(fed.error());
  if (fed && !*fed) ended = decoder.finish();
  require(ended || !ended.error().message.empty());
  // Whether bytes follow the answer is seen only when they come with its end.
  const bool is_all = pieces.ended();
  return {sink.answer.status, sink.answer.headers, sink.answer.body, kind_of(ended),
          is_all && decoder.keeps_alive()};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::require_same_however_cut(data, size, told_of);
}
