// Fuzzes the reader of rounds that have ended, as the journal keeps them: what it takes is written
// again as something that it reads as the same. The first line is the round, the rest its
// transcript.
#include <string>

#include "require.h"
#include "treaty/turns/settled_turn.h"

using namespace treaty;  // NOLINT: a target is one file.
using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view transcript = text.substr(std::min(end + 1, text.size()));
  const auto turn = turns::decode_settled_turn(text.substr(0, end), transcript);
  if (!turn) {
    require(turn.error().code == ErrorCode::corrupt);
    return 0;
  }
  const auto said = turns::decode_transcript(transcript).value_or(turns::Transcript{});
  const std::string written = turns::encode(*turn, said);
  const auto again = turns::decode_settled_turn(written, turns::encode(said));
  require(again.has_value());
  require(again->answer == turn->answer);
  require(again->result == turn->result);
  require(turns::encode(*again, said) == written);
  return 0;
}
