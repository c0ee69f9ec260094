#include "treaty/testing/transcripts.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>

#include "treaty/backends/answer_reader.h"
#include "treaty/backends/providers/provider.h"
#include "treaty/base/json.h"

namespace treaty::testing {
namespace {

Transcript read_transcript(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  auto recording = backends::read_recording(text);
  REQUIRE_MESSAGE(recording, path.string());
  REQUIRE_MESSAGE(recording->protocol != nullptr, path.string());
  const json::Document document(text);
  const auto root = document.root();
  const auto expect = json::find_member(root, "expect");
  REQUIRE_MESSAGE(expect, path.string());
  Transcript transcript{.name = path.stem().string(),
                        .recording = std::move(*recording),
                        .expect = std::string(expect->source()),
                        .whole_at = std::string::npos};
  if (const auto marker = json::find_text(root, "terminal"); !marker.empty()) {
    const std::size_t begin = transcript.recording.body.find(marker);
    REQUIRE_MESSAGE(begin != std::string::npos, path.string());
    transcript.whole_at = begin + marker.size();
  }
  return transcript;
}

}  // namespace

std::vector<Transcript> read_transcripts() {
  std::vector<Transcript> transcripts;
  const std::filesystem::path folder = TREATY_SOURCE_DIR "/tests/transcripts";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") transcripts.push_back(read_transcript(entry.path()));
  }
  std::ranges::sort(transcripts, {}, &Transcript::name);
  return transcripts;
}

std::vector<Transcript> read_streams() {
  auto streams = read_transcripts();
  std::erase_if(streams, [](const Transcript& transcript) { return !transcript.is_stream(); });
  return streams;
}

contracts::AgentResult result_of(const Transcript& transcript,
                                 const std::vector<std::string_view>& pieces) {
  const backends::Recording& recording = transcript.recording;
  const backends::Provider* provider = backends::find_provider(recording.provider);
  backends::AnswerReader reader(*recording.protocol, recording.status, recording.headers);
  for (const std::string_view piece : pieces) {
    const auto buffer = std::make_unique<std::string>(piece);  // Gone after its turn.
    reader.feed(*buffer);
  }
  return reader.finish({.provider = recording.provider,
                        .status = recording.status,
                        .headers = recording.headers,
                        .plain_limits = provider == nullptr ? results::PlainLimits::unnamed
                                                            : provider->plain_limits});
}

std::string comparable(contracts::AgentResult result) {
  if (result.provider_data) result.provider_data->erase("raw_headers");
  return contracts::encode(result);
}

}  // namespace treaty::testing
