#include "treaty/bridge/exchange.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <set>
#include <span>

#include "treaty/base/files.h"
#include "treaty/base/json.h"
#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"
#include "treaty/bridge/names.h"
#include "treaty/contracts/text/handwritten_json.h"

namespace treaty::bridge {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Of clocks and of those who write whole seconds.
constexpr double kTolerance = 1;

constexpr double kYoung = 2;  // Seconds in which a writer may still be at work.
// Seconds that the clock of a writer may be ahead of this one. A file that is dated later was not
// written now.
constexpr double kClockDifference = 60;

std::int64_t nanoseconds(const timespec& time) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  return static_cast<std::int64_t>(time.tv_sec) * kSecond + time.tv_nsec;
}

// Where the string begins that the end of the text cuts off; npos when it cuts none.
std::size_t cut_string(std::string_view text) {
  std::size_t begin = std::string_view::npos;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool inside = begin != std::string_view::npos;
    if (text[at] == '"') begin = inside ? std::string_view::npos : at;
    if (text[at] == '\\' && inside) ++at;
  }
  return begin;
}

// What somebody is writing, or was cut off writing: nothing yet, JSON that is in order up to a last
// token that ends with the text, a fence that is not closed, or the zeros that a crash leaves where
// the end should be.
bool is_torn(std::string_view text) {
  if (const auto utf8 = contracts::utf8_of_utf16(text)) return is_torn(*utf8);
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (is_blank(text) || text.ends_with('\0')) return true;
  if (contracts::has_open_fence(text)) return true;
  if (!trimmed(text).starts_with('{')) return false;  // It never was to become one of ours.
  const json::Document document(text, {.max_faults = 1, .grammar_only = true});
  if (document.root() || document.faults().empty()) return false;
  const std::size_t fault = document.faults().front().offset;
  if (fault >= cut_string(text)) return true;
  const auto is_of_word = [](char c) {
    return is_word_character(c) || c == '.' || c == '-' || c == '+';
  };
  return std::ranges::all_of(text.substr(std::min(fault, text.size())), is_of_word);
}

// Everything of a file but what it means. False when there is nothing to decode.
template <class Document>
bool load(BridgeFile<Document>& file) {
  struct stat status{};
  if (stat(file.path.c_str(), &status) != 0 && errno == ENOENT) return false;
  file.version = {status.st_ino, status.st_size, nanoseconds(status.st_mtim)};
  auto text = read_file(file.path, kLargestFile);
  if (!text) {
    file.state = FileState::unreadable;
    file.problem = text.error().message;
    return false;
  }
  file.text = *std::move(text);
  if (is_torn(file.text)) {
    file.state = FileState::torn;
    file.problem = is_blank(file.text) ? "it is empty" : "it ends in the middle";
    return false;
  }
  return true;
}

template <class Document>
void take(BridgeFile<Document>& file, contracts::Decoded<Document> decoded) {
  file.state = decoded ? FileState::whole : FileState::broken;
  if (!decoded) file.problem = first_of(decoded.error());
  if (decoded) file.document = std::move(*decoded);
  file.verdict = std::move(decoded).verdict();
}

// An id that differs only in letter case breaks BRS-12, too, and is repaired.
bool answers_another(const RequestFile& request, const ResponseFile& response) {
  const bool has_other_id = std::ranges::any_of(
      response.verdict.violations,
      [](const contracts::Finding& finding) { return finding.rule.text() == "BRS-12"; });
  if (!has_other_id || !request.document) return has_other_id;
  const json::Document document(response.text);
  return !contracts::is_same_request_id(json::find_text(document.root(), "request_id"),
                                        request.document->request_id);
}

// Suffixes that have an answer and no request: a request of another suffix names this very file as
// its `response_file`.
std::set<std::string> answers_of_others(std::span<const Exchange> exchanges) {
  std::set<std::string> suffixes;
  for (const Exchange& one : exchanges) {
    if (one.request.state != FileState::absent) continue;
    const auto is_owner = [&](const Exchange& other) {
      return other.is_asked() && is_same_file(other.response, one.response);
    };
    if (std::ranges::any_of(exchanges, is_owner)) suffixes.insert(one.suffix);
  }
  return suffixes;
}

}  // namespace

std::string first_of(const contracts::Findings& violations) {
  const contracts::Finding& first = violations.front();
  std::string text = fmt::format("{}{}{}: {}", first.rule.text(), first.where.empty() ? "" : " ",
                                 first.where, first.message);
  if (!first.hint.empty()) text += fmt::format(" ({})", first.hint);
  if (violations.size() > 1) text += fmt::format("; and {} more", violations.size() - 1);
  return text;
}

FileVersion version_of(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return {};
  return {status.st_ino, status.st_size, nanoseconds(status.st_mtim)};
}

bool is_young(const FileVersion& version, double now) {
  constexpr double kNanosecond = 1e-9;
  const double age = now - static_cast<double>(version.changed_at) * kNanosecond;
  return age < kYoung && age > -kClockDifference;
}

std::string_view name_of(FileState state) {
  constexpr std::array<std::string_view, 5> kNames = {"absent", "unreadable", "torn", "broken",
                                                      "whole"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string_view name_of(AnswerState state) {
  constexpr std::array<std::string_view, 7> kNames = {"none",    "unreadable", "torn",    "broken",
                                                      "foreign", "stale",      "answered"};
  return kNames[static_cast<std::size_t>(state)];
}

RequestFile read_request(const std::string& path) {
  RequestFile file{.path = path};
  if (load(file)) take(file, contracts::decode_bridge_request(file.text));
  return file;
}

ResponseFile read_response(const std::string& path,
                           const std::optional<contracts::BridgeRequest>& request) {
  ResponseFile file{.path = path};
  if (!load(file)) return file;
  contracts::DecodeOptions options{.now = timestamp_now()};
  if (request) options.request_id = request->request_id;
  take(file, contracts::decode_bridge_response(file.text, options));
  return file;
}

AnswerState judge(const RequestFile& request, const ResponseFile& response) {
  switch (response.state) {
    case FileState::absent: return AnswerState::none;
    case FileState::unreadable: return AnswerState::unreadable;
    case FileState::torn: return AnswerState::torn;
    case FileState::broken:
      return answers_another(request, response) ? AnswerState::foreign : AnswerState::broken;
    case FileState::whole: break;
  }
  if (!request.document || response.document->request_id != request.document->request_id) {
    return AnswerState::foreign;
  }
  const auto asked = seconds_of_timestamp(request.document->created_at);
  const auto answered = seconds_of_timestamp(response.document->created_at);
  const bool is_stale = asked && answered && *answered + kTolerance < *asked;
  return is_stale ? AnswerState::stale : AnswerState::answered;
}

std::expected<std::string, Error> response_path(std::string_view directory, std::string_view suffix,
                                                const contracts::BridgeRequest& request) {
  if (!request.response_file) return path_in(directory, response_name(suffix));
  std::string path = path_in(directory, *request.response_file);
  const auto refused = [&](std::string_view why) {
    return fail(ErrorCode::not_a_document,
                fmt::format("response_file is no place for an answer: {}", why),
                std::string(*request.response_file));
  };
  const fs::path place(path);
  const fs::path name = fs::path(*request.response_file).filename();
  if (is_blank(*request.response_file) || name.empty() || name == "." || name == "..") {
    return refused("it is no file");
  }
  if (path.contains('\0')) return refused("it has a zero byte");
  if (suffix_of_request(place.filename().string())) return refused("it names a request");
  if (std::ranges::find(place, fs::path(kFolder)) != place.end()) {
    return refused(fmt::format("{} is treaty's own", kFolder));
  }
  return path;
}

Exchange read_exchange(const std::string& directory, const std::string& suffix) {
  Exchange exchange{.suffix = suffix,
                    .request = read_request(path_in(directory, request_name(suffix)))};
  std::string place = path_in(directory, response_name(suffix));
  if (exchange.is_asked()) {
    auto wanted = response_path(directory, suffix, *exchange.request.document);
    if (wanted) {
      place = *std::move(wanted);
    } else {
      exchange.request.state = FileState::broken;
      exchange.request.problem = wanted.error().message;
      exchange.request.document.reset();
    }
  }
  exchange.response = read_response(place, exchange.request.document);
  exchange.answer = judge(exchange.request, exchange.response);
  return exchange;
}

std::expected<std::vector<Exchange>, Error> read_exchanges(const std::string& directory) {
  std::error_code failed;
  std::set<std::pair<std::int64_t, std::string>> suffixes;  // By their number.
  for (const std::string& name : names_in(directory, failed)) {
    auto suffix = suffix_of_request(name);
    if (!suffix) suffix = suffix_of_response(name);
    if (suffix) suffixes.emplace(phase_of_suffix(*suffix).value_or(-1), *suffix);
  }
  if (failed) {
    return fail(ErrorCode::unreadable, fmt::format("cannot be read: {}", failed.message()),
                directory);
  }
  std::vector<Exchange> exchanges;
  exchanges.reserve(suffixes.size());
  for (const auto& [number, suffix] : suffixes) {
    exchanges.push_back(read_exchange(directory, suffix));
  }
  const std::set<std::string> answers = answers_of_others(exchanges);
  std::erase_if(exchanges, [&](const Exchange& one) { return answers.contains(one.suffix); });
  return exchanges;
}

}  // namespace treaty::bridge
