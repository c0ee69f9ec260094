// Reads the project's own exchanges with providers (tests/transcripts/): a recording each, and what
// is expected of it. X-stream.json and X-plain.json are the same answer, streamed and not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "treaty/backends/recording.h"

namespace treaty::testing {

struct Transcript {
  std::string name;  // "chat-text-stream".
  backends::Recording recording;
  std::string expect;        // JSON.
  std::size_t whole_at = 0;  // The stream's terminal marker is whole here; npos: there is none.

  bool is_stream() const { return name.ends_with("-stream"); }
  bool is_event_stream() const { return recording.streamed; }
};

std::vector<Transcript> read_transcripts();  // By name.
std::vector<Transcript> read_streams();

// The result of the transcript with these bytes for a body, fed in these pieces.
contracts::AgentResult result_of(const Transcript& transcript,
                                 const std::vector<std::string_view>& pieces);

// As text, without the headers, in which twins differ.
std::string comparable(contracts::AgentResult result);

}  // namespace treaty::testing
