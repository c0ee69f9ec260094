// P2 and P3 of the performance goals: twelve rate-limit headers to a RateLimitState, a plain chat
// completion and a stream of 32 chunks to an AgentResult.
#include "bench/medians.h"
#include "bench/rows.h"
#include "treaty/backends/answer_reader.h"
#include "treaty/results/limits.h"

namespace {

using treaty::Headers;
namespace backends = treaty::backends;
namespace results = treaty::results;

// --- What providers send ----------------------------------------------------------------------

// Twelve of the limits, and what stands around them in a real answer.
Headers answer_headers() {
  return {{"date", "Thu, 01 Jan 2026 00:00:00 GMT"},
          {"content-type", "application/json"},
          {"x-request-id", "req_0123456789abcdef0123456789abcdef"},
          {"openai-processing-ms", "412"},
          {"x-ratelimit-limit-requests", "10000"},
          {"x-ratelimit-remaining-requests", "9999"},
          {"x-ratelimit-reset-requests", "6ms"},
          {"x-ratelimit-limit-tokens", "150000000"},
          {"x-ratelimit-remaining-tokens", "149999827"},
          {"x-ratelimit-reset-tokens", "1m26.4s"},
          {"x-ratelimit-limit-project-requests", "5000"},
          {"x-ratelimit-remaining-project-requests", "4999"},
          {"x-ratelimit-reset-project-requests", "12ms"},
          {"x-ratelimit-limit-project-tokens", "30000"},
          {"x-ratelimit-remaining-project-tokens", "29983"},
          {"x-ratelimit-reset-project-tokens", "33ms"}};
}

Headers plain_headers() {
  return {{"date", "Thu, 01 Jan 2026 00:00:00 GMT"},
          {"content-type", "application/json"},
          {"x-request-id", "req_0123456789abcdef0123456789abcdef"},
          {"x-ratelimit-limit-requests", "10000"},
          {"x-ratelimit-remaining-requests", "9999"},
          {"x-ratelimit-reset-requests", "6ms"}};
}

constexpr std::string_view kPlain =
    R"({"id":"chatcmpl-0123456789abcdef01234567","object":"chat.completion","created":1767225600,)"
    R"("model":"gpt-4.1-mini-2025-04-14","choices":[{"index":0,"message":{"role":"assistant",)"
    R"("content":"Paris is the capital of France, and its largest city.","refusal":null,)"
    R"("annotations":[]},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":24,)"
    R"("completion_tokens":12,"total_tokens":36,"prompt_tokens_details":{"cached_tokens":0,)"
    R"("audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0}},)"
    R"("service_tier":"default","system_fingerprint":"fp_0123456789"})";

std::string chunk(std::string_view choices, std::string_view rest = "") {
  return fmt::format(
      "data: {{\"id\":\"chatcmpl-0123456789abcdef01234567\",\"object\":\"chat.completion.chunk\","
      "\"created\":1767225600,\"model\":\"gpt-4.1-mini-2025-04-14\",\"service_tier\":\"default\","
      "\"choices\":[{}]{}}}\n\n",
      choices, rest);
}

const std::string& stream() {
  static const std::string text = [] {
    std::string out;
    for (int i = 0; i < 30; ++i) {
      out += chunk(fmt::format(
          "{{\"index\":0,\"delta\":{{\"content\":\" word{}\"}},\"finish_reason\":null}}", i));
    }
    out += chunk("{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}");
    out +=
        chunk("", ",\"usage\":{\"prompt_tokens\":24,\"completion_tokens\":30,\"total_tokens\":54}");
    return out + "data: [DONE]\n\n";
  }();
  return text;
}

// --- Benchmarks -------------------------------------------------------------------------------

void rate_limits(benchmark::State& state) {
  const Headers headers = answer_headers();
  bench::run_over(state, "            ", [&] {
    benchmark::DoNotOptimize(results::read_rate_limits({.headers = headers, .status = 200}));
  });
}

treaty::contracts::AgentResult normalized(const Headers& headers, std::string_view body,
                                          std::size_t piece) {
  backends::AnswerReader reader(backends::chat_completions(), 200, headers);
  for (std::size_t at = 0; at < body.size(); at += piece) reader.feed(body.substr(at, piece));
  return reader.finish({.provider = "openai", .status = 200, .headers = headers});
}

void plain(benchmark::State& state) {
  const Headers headers = plain_headers();
  bench::run_over(state, kPlain,
                  [&] { benchmark::DoNotOptimize(normalized(headers, kPlain, kPlain.size())); });
}

Headers stream_headers() {
  Headers headers = plain_headers();
  headers.set("content-type", "text/event-stream");
  return headers;
}

void streamed(benchmark::State& state) {
  const Headers headers = stream_headers();
  bench::run_over(state, stream(), [&] {
    benchmark::DoNotOptimize(normalized(headers, stream(), stream().size()));
  });
}

void streamed_in_pieces(benchmark::State& state) {
  const Headers headers = stream_headers();
  bench::run_over(state, stream(),
                  [&] { benchmark::DoNotOptimize(normalized(headers, stream(), 150)); });
}

constexpr bench::Entry kEntries[] = {
    {"12 headers to a state", rate_limits},
    {"plain chat completion", plain},
    {"stream of 32 chunks", streamed},
    {"the same in 150-byte pieces", streamed_in_pieces},
};

// What is measured is what it is said to be.
bool answers_are_right() {
  const auto state = results::read_rate_limits({.headers = answer_headers(), .status = 200});
  const auto whole = normalized(plain_headers(), kPlain, kPlain.size());
  const auto pieces = normalized(stream_headers(), stream(), 150);
  return state.windows.size() == 4 && whole.success() && whole.usage && pieces.success() &&
         pieces.usage && pieces.content->size() > 100;
}

void conclude(bench::MedianReporter& medians) {
  const auto tell = [&](std::string id, std::string what, std::size_t entry, double goal) {
    bench::tell({std::move(id), std::move(what), medians[kEntries[entry].name].nanoseconds / 1e3,
                 "µs", goal});
  };
  tell("P2", "12 rate-limit headers to a state", 0, 1);
  tell("P3", "a plain chat completion of 600 bytes", 1, 4);
  tell("P3", "a stream of 32 chunks", 2, 25);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_all(kEntries, argc, argv, answers_are_right(), conclude);
}
