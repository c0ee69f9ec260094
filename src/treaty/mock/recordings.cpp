#include "treaty/mock/recordings.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "treaty/base/json.h"
#include "treaty/base/try.h"

namespace treaty::mock {
namespace {

// What a recorded or a new request is known by.
struct Marks {
  std::string body{};
  std::string model{};
  bool stream = false;
};

Marks marks_of(std::string_view target, std::string_view body) {
  Marks marks;
  const json::Document document(body, {.max_depth = 512, .grammar_only = true});
  if (const auto root = document.root(); root && document.faults().empty()) {
    marks.body = json::minified(*root);
    marks.model = json::find_text(root, "model");
    marks.stream = json::is_true(json::find_member(root, "stream"));
  }
  if (const auto route = find_route(target)) {
    if (marks.model.empty()) marks.model = route->path.model;
    marks.stream = marks.stream || route->path.stream;
  }
  return marks;
}

// Of the wire that was: the body here is neither compressed nor chunked, and hop-by-hop fields are
// the server's own.
bool is_of_the_wire(std::string_view name) {
  constexpr std::array<std::string_view, 6> kNames = {"content-length",    "content-encoding",
                                                      "transfer-encoding", "connection",
                                                      "keep-alive",        "trailer"};
  return std::ranges::find(kNames, name) != kNames.end();
}

}  // namespace

std::expected<Track, Error> read_track(std::string_view json) {
  TREATY_TRY(auto recording, backends::read_recording(json));
  if (recording.protocol == nullptr) {
    return fail(ErrorCode::not_a_document, "names neither an `endpoint` nor a path that tells it");
  }
  Marks marks = marks_of(recording.request_path, recording.request_body);
  const bool is_known = !recording.request_path.empty() || !recording.request_body.empty();
  Track track{.recording = std::move(recording),
              .model = std::move(marks.model),
              .request_body = std::move(marks.body)};
  track.path = path_of(track.recording.request_path);
  track.stream = is_known ? marks.stream : track.recording.streamed;
  return track;
}

Recordings::Recordings(std::vector<Track> tracks)
    : tracks_(std::move(tracks)), played_(tracks_.size()) {}

const Track* Recordings::find(const http::Request& request, const ProviderRoute& route) {
  const Marks marks = marks_of(request.target, request.body);
  std::optional<std::size_t> best;
  std::tuple<int, std::ptrdiff_t> best_score;
  for (std::size_t i = 0; i < tracks_.size(); ++i) {
    const Track& track = tracks_[i];
    if (track.recording.protocol != route.protocol || track.stream != marks.stream) continue;
    const int similarity = (!marks.body.empty() && track.request_body == marks.body ? 4 : 0) +
                           (track.model == marks.model ? 2 : 0) +
                           (track.path == path_of(request.target) ? 1 : 0);
    const std::tuple score(similarity, -static_cast<std::ptrdiff_t>(played_[i]));
    if (best && score <= best_score) continue;
    best = i;
    best_score = score;
  }
  if (!best) return nullptr;
  ++played_[*best];
  return &tracks_[*best];
}

Whole whole_of(const Track& track) {
  const backends::Recording& recording = track.recording;
  Whole whole{.status = std::max(recording.status, 200), .streamed = recording.streamed};
  whole.headers.set("content-type", recording.streamed ? "text/event-stream" : "application/json");
  for (const auto& [name, value] : recording.headers) {
    if (!is_of_the_wire(name)) whole.headers.set(name, value);
  }
  std::string_view rest = recording.body;
  while (whole.streamed && !rest.empty()) {
    const std::size_t blank = std::min(rest.find("\n\n"), rest.find("\n\r\n"));
    const std::size_t end =
        blank == std::string_view::npos ? rest.size() : rest.find('\n', blank + 1) + 1;
    whole.frames.push_back({std::string(rest.substr(0, end))});
    rest.remove_prefix(end);
  }
  if (!whole.streamed) whole.frames.push_back({recording.body});
  return whole;
}

}  // namespace treaty::mock
