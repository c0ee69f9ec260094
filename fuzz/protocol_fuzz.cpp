// Fuzzes the reader of one protocol, the one of TREATY_FUZZ_PROTOCOL. The first byte chooses how
// the rest is cut: whatever way, a stream gives the same result; and every result is a valid one.
#include <memory>
#include <string>

#include "require.h"
#include "treaty/backends/answer_reader.h"
#include "treaty/contracts/decode_agent_result.h"

using namespace treaty;            // NOLINT: a target is one file.
using namespace treaty::backends;  // NOLINT
using fuzz::require;

namespace {

constexpr std::string_view kName = TREATY_FUZZ_PROTOCOL;

struct Read {
  std::string result;
  std::string deltas;  // The text as it came.
};

// In pieces of 1 to 13 bytes, or whole when `seed` is 0.
Read read(std::string_view text, const Headers& headers, unsigned seed) {
  AnswerReader reader(*find_protocol(kName), 200, headers);
  Read read;
  for (unsigned state = seed; !text.empty();) {
    state = state * 1664525U + 1013904223U;
    const std::size_t size = seed == 0 ? text.size() : std::size_t{1} + (state >> 24U) % 13U;
    const auto piece = std::make_unique<std::string>(text.substr(0, size));  // Gone after its turn.
    text.remove_prefix(piece->size());
    read.deltas += reader.feed(*piece);
  }
  const contracts::AgentResult result =
      reader.finish({.provider = "custom", .status = 200, .headers = headers});
  require(result.success() == (result.finish_reason != "error"));
  read.result = contracts::encode(result);
  return read;
}

void check_valid(const std::string& result) {
  const auto decoded = contracts::decode_agent_result(result, {.max_size = result.size() + 1});
  require(static_cast<bool>(decoded));
  require(contracts::encode(*decoded) == result);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text = fuzz::as_text(data, size).substr(1);
  for (const Headers& headers : {Headers(), Headers{{"content-type", "application/x-ndjson"}}}) {
    const Read whole = read(text, headers, 0);
    const Read pieces = read(text, headers, data[0] + 1U);
    check_valid(whole.result);
    require(whole.result == pieces.result);
    // The last event of Responses repeats the text and may correct what came before.
    if (kName != "responses") require(whole.deltas == pieces.deltas);
  }
  return 0;
}
