// A request and the answer that belongs to it, as they lie in a directory now.
//
//   const auto exchanges = bridge::read_exchanges("work");
//   for (const bridge::Exchange& exchange : *exchanges) {
//     if (exchange.waits()) std::cout << exchange.request.document->prompt << '\n';
//     if (exchange.answer == bridge::AnswerState::torn) std::cout << exchange.response.problem;
//   }
//
// Threads: these functions change nothing, need no lock and keep no state; any thread may call them
// at any time, also while another process writes the files. What they return is a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/base/error.h"
#include "treaty/contracts/bridge_request.h"
#include "treaty/contracts/bridge_response.h"

namespace treaty::bridge {

constexpr std::size_t kLargestFile = std::size_t{16} << 20U;  // In bytes (JSON-03).

enum class FileState {
  absent,
  unreadable,
  torn,    // Empty, or its JSON ends in the middle: somebody is writing it, or was cut off.
  broken,  // JSON or not, it breaks its contract.
  whole,
};

// Which writing of a file this is.
struct FileVersion {
  std::uint64_t inode = 0;
  std::int64_t size = 0;
  std::int64_t changed_at = 0;  // Nanoseconds since 1970.
  bool operator==(const FileVersion&) const = default;
};

// The version of an existing file.
FileVersion version_of(const std::string& path);

template <class Document>
struct BridgeFile {
  std::string path{};
  FileState state = FileState::absent;
  FileVersion version{};
  std::string text{};
  std::string problem{};               // For people; empty when absent or whole.
  contracts::Verdict verdict{};        // Of what could be read.
  std::optional<Document> document{};  // When it is whole.
};

// Whether both are one file, whatever their paths are.
template <class Document>
bool is_same_file(const BridgeFile<Document>& one, const BridgeFile<Document>& other) {
  return one.version.inode != 0 && one.version == other.version;
}

// Whether a file is so young that its writer may still be at work. `now` is in seconds since 1970.
bool is_young(const FileVersion& version, double now);

// Whether the rest of a file may be on its way: it ends in the middle, and it is young.
template <class Document>
bool is_being_written(const BridgeFile<Document>& file, double now) {
  return file.state == FileState::torn && is_young(file.version, now);
}

using RequestFile = BridgeFile<contracts::BridgeRequest>;
using ResponseFile = BridgeFile<contracts::BridgeResponse>;

enum class AnswerState {
  none,
  unreadable,
  torn,
  broken,
  foreign,   // It answers another request (BRS-12),
  stale,     // or says that it was made before this one was asked.
  answered,  // It is the answer.
};

struct Exchange {
  std::string suffix{};     // names.h.
  RequestFile request{};    // Absent when there is only an answer.
  ResponseFile response{};  // Its path is where the answer belongs, whether or not it is there.
  AnswerState answer = AnswerState::none;

  bool is_asked() const { return request.state == FileState::whole; }
  bool waits() const { return is_asked() && answer != AnswerState::answered; }
};

// The first of these findings, for people, and how many more there are.
std::string first_of(const contracts::Findings& violations);

std::string_view name_of(FileState state);
std::string_view name_of(AnswerState state);

RequestFile read_request(const std::string& path);

// With the request, correlation is judged, too (BRS-12).
ResponseFile read_response(const std::string& path,
                           const std::optional<contracts::BridgeRequest>& request);

// What the response is to the request. Pure.
AnswerState judge(const RequestFile& request, const ResponseFile& response);

// Where the answer to a request belongs: `response_file`, seen from the request's directory, else
// the request's own suffix. An error when that is no place for an answer.
std::expected<std::string, Error> response_path(std::string_view directory, std::string_view suffix,
                                                const contracts::BridgeRequest& request);

// The exchange of one suffix.
Exchange read_exchange(const std::string& directory, const std::string& suffix);

// Every suffix that has a request or an answer in the directory; the empty one first, then by
// number. An error when the directory cannot be listed.
std::expected<std::vector<Exchange>, Error> read_exchanges(const std::string& directory);

}  // namespace treaty::bridge
