// Fuzzes the reader of transcripts: what it takes is written again as something that it reads as
// the same.
#include <string>

#include "require.h"
#include "treaty/turns/transcript.h"

using namespace treaty;  // NOLINT: a target is one file.
using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto transcript = turns::decode_transcript(fuzz::as_text(data, size));
  if (!transcript) {
    require(transcript.error().code == ErrorCode::corrupt);
    return 0;
  }
  const std::string written = turns::encode(*transcript);
  const auto again = turns::decode_transcript(written);
  require(again.has_value());
  require(*again == *transcript);
  require(turns::encode(*again) == written);
  return 0;
}
