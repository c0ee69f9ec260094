// P1 of the performance goals: the check of a 2 KB request, parse, rules and verdict, next to a
// plain simdjson parse of the same bytes. CPU time, medians of repetitions in random order.
#include <simdjson.h>

#include "bench/medians.h"
#include "bench/rows.h"
#include "treaty/contracts/agent_execute_request.h"
#include "treaty/contracts/contract.h"
#include "treaty/contracts/text/content_hash.h"

namespace {

using treaty::contracts::Contract;

// --- Documents --------------------------------------------------------------------------------

constexpr std::size_t kDocumentSize = 2048;

// A user turn as an editor sends it. `@` is where prose fills the document up to its size.
constexpr std::string_view kRequest = R"({
  "SessionId": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
  "TurnId": "turn-0042",
  "Instruction": "The upload fails for files over 4 GB. Find out why, and propose a change.@",
  "InputArtifacts": [
    {
      "RelativePath": "src/upload/chunks.cpp",
      "FileName": "chunks.cpp",
      "Contents": "#include \"chunks.h\"\n\n// Splits a file into chunks of equal size.\nstd::vector<Chunk> split(const File& file, int chunk_size) {\n  std::vector<Chunk> chunks;\n  for (int offset = 0; offset < file.size(); offset += chunk_size) {\n    chunks.push_back({offset, std::min(chunk_size, file.size() - offset)});\n  }\n  return chunks;\n}\n",
      "Origin": "ide",
      "MimeType": "text/x-c++",
      "Language": "cpp"
    },
    {
      "RelativePath": "logs/upload.log",
      "FileName": "upload.log",
      "Contents": "12:00:01 open big.iso (4831838208 bytes)\n12:00:01 split into -1 chunks\n12:00:01 nothing to send \u2013 done\n",
      "Origin": "user"
    }
  ],
  "RagScope": {
    "Conditions": [
      {"Key": "repository", "Operator": "==", "Values": ["uploader", "uploader-core"]},
      {"Key": "path", "Operator": "does_not_contain", "Values": ["third_party/"]}
    ]
  },
  "WorkspaceId": "ws-314",
  "Repo": "uploader",
  "Language": "en",
  "Streaming": false,
  "AgentContextId": "ctx-1",
  "ConversationContextId": "conv-9"
})";

constexpr std::string_view kResponse = R"({
  "Kind": "final",
  "SessionId": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
  "TurnId": "turn-0042",
  "ModeDisplayName": "Investigation",
  "PrimaryOutputText": "`split` counts in `int`, which ends at 2 GiB.@\n\n```cpp\nfor (std::uint64_t offset = 0; offset < file.size(); offset += chunk_size)\n```\n",
  "Files": [
    {
      "Name": "chunks.patch",
      "MimeType": "text/x-diff",
      "Url": "https://files.example.org/turn-0042/chunks.patch",
      "SizeBytes": 812,
      "ContentHash": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
      "Description": "The change as a patch",
      "ContentExpires": "2031-01-31T12:00:00Z"
    }
  ],
  "ToolResults": [
    {"ToolCallId": "call-1", "ExecutionMs": 12, "ResultJson": "{\"matches\":3}"},
    {"ToolCallId": "call-2", "ExecutionMs": 0, "ErrorMessage": "no such file"}
  ],
  "UserWarnings": ["The tests were not run."],
  "Usage": {"PromptTokens": 1834, "CompletionTokens": 212, "TotalTokens": 2046, "CachedTokens": 1024}
})";

constexpr std::string_view kProse =
    " It worked last week, and the only change since then was the new build; the log of the failed "
    "run is attached, together with the part of the code that I suspect.";

std::string filled(std::string_view document) {
  const std::size_t at = document.find('@');
  std::string filling;
  while (filling.size() + document.size() - 1 < kDocumentSize) filling += kProse;
  filling.resize(kDocumentSize - document.size() + 1);
  return std::string(document).replace(at, 1, filling);
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  return text.replace(text.find(what), what.size(), by);
}

// No session, an unknown origin, and a path that leads out of the root.
std::string with_three_violations(std::string request) {
  request = replaced(std::move(request), "7c9e6679-7425-40de-944b-e07fc1f90ae7", " ");
  request = replaced(std::move(request), "\"ide\"", "\"IDE\"");
  return replaced(std::move(request), "logs/upload.log", "../upload.log");
}

const std::string& request_text() {
  static const std::string text = filled(kRequest);
  return text;
}
const std::string& response_text() {
  static const std::string text = filled(kResponse);
  return text;
}
const std::string& invalid_text() {
  static const std::string text = with_three_violations(request_text());
  return text;
}

// --- Benchmarks -------------------------------------------------------------------------------

using bench::run_over;

void run_check(benchmark::State& state, Contract contract, std::string_view text) {
  run_over(state, text,
           [&] { benchmark::DoNotOptimize(treaty::contracts::check(contract, text)); });
}

void check_request(benchmark::State& state) { run_check(state, Contract::request, request_text()); }
void check_invalid_request(benchmark::State& state) {
  run_check(state, Contract::request, invalid_text());
}
void check_response(benchmark::State& state) {
  run_check(state, Contract::response, response_text());
}

void decode_request(benchmark::State& state) {
  run_over(state, request_text(), [&] {
    benchmark::DoNotOptimize(treaty::contracts::decode_agent_execute_request(request_text()));
  });
}

// The parser is used again and again and the input is padded: as fast as simdjson goes.
void plain_simdjson_parse(benchmark::State& state) {
  const simdjson::padded_string padded(request_text());
  simdjson::dom::parser parser;
  run_over(state, request_text(), [&] {
    simdjson::dom::element root;
    benchmark::DoNotOptimize(parser.parse(padded).get(root));
    benchmark::DoNotOptimize(root);
  });
}

void content_hash_64k(benchmark::State& state) {
  std::string text;
  while (text.size() < 65'536) text += "A line of text, about as long as lines of code are.\n";
  text.resize(65'536);
  run_over(state, text, [&] { benchmark::DoNotOptimize(treaty::contracts::content_hash(text)); });
}

constexpr bench::Entry kEntries[] = {
    {"check 2 KB request", check_request},   {"plain simdjson parse", plain_simdjson_parse},
    {"decode 2 KB request", decode_request}, {"check, three violations", check_invalid_request},
    {"check 2 KB response", check_response}, {"content_hash of 64 KiB", content_hash_64k},
};

// --- Report -----------------------------------------------------------------------------------

constexpr double kGoal = 300;  // MB/s, or half of the plain parse when that is less.

void conclude(bench::MedianReporter& medians) {
  const double check = medians[kEntries[0].name].speed;
  const double plain = medians[kEntries[1].name].speed;
  if (check == 0 || plain == 0) return;
  bench::tell({"P1", "check a 2 KB request", check, "MB/s", std::min(kGoal, plain / 2), true,
               fmt::format("plain simdjson parse {:.0f} MB/s", plain)});
}

// What is measured is what it is said to be.
bool documents_are_right() {
  using treaty::contracts::check;
  return request_text().size() == kDocumentSize && response_text().size() == kDocumentSize &&
         check(Contract::request, request_text()).valid() &&
         check(Contract::response, response_text()).valid() &&
         check(Contract::request, invalid_text()).violations.size() == 3;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_all(kEntries, argc, argv, documents_are_right(), conclude);
}
