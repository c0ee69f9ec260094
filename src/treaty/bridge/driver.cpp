#include "treaty/bridge/driver.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <tuple>

#include "treaty/base/files.h"
#include "treaty/base/json.h"
#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"
#include "treaty/base/try.h"
#include "treaty/bridge/half_written.h"
#include "treaty/bridge/names.h"
#include "treaty/bridge/pruning.h"
#include "treaty/bridge/quarantine.h"
#include "treaty/bridge/questions.h"
#include "treaty/bridge/run_state.h"
#include "treaty/contracts/text/handwritten_json.h"

namespace treaty::bridge {
namespace {

namespace fs = std::filesystem;

// Temporary files of writers that were killed; the lock says that none of them lives.
void clear_leftovers(const std::string& directory) {
  std::error_code ignored;
  for (const std::string& name : names_in(directory, ignored)) {
    if (suffix_of_response(name_of_replaced(name))) fs::remove(path_in(directory, name), ignored);
  }
}

bool is_inside(const std::string& directory, const std::string& path) {
  const fs::path given = fs::path(path).parent_path();
  if (given == directory) return true;  // Which has no links in it.
  std::error_code failed;
  const fs::path parent = fs::canonical(given, failed);
  if (failed) return false;
  const fs::path way = parent.lexically_relative(directory);
  return !way.empty() && *way.begin() != "..";
}

std::string_view status_of(const contracts::BridgeResponse& response) {
  if (std::holds_alternative<contracts::BridgeSuccess>(response.outcome)) return "success";
  return std::holds_alternative<contracts::BridgeTimeout>(response.outcome) ? "timeout" : "error";
}

// Where the question's clock is ahead, or ours was set back, the answer would count as older than
// its question, and nobody would take it: it has the question's time then.
contracts::BridgeResponse dated_after(const RequestFile& request,
                                      contracts::BridgeResponse response) {
  const ResponseFile given{.state = FileState::whole, .document = response};
  if (judge(request, given) == AnswerState::stale) {
    response.created_at = request.document->created_at;
  }
  return response;
}

// What the journal keeps of an answer: who, how long, how it ended; not what was said.
json::ObjectText details_of(const Exchange& exchange, const contracts::BridgeResponse& response) {
  json::ObjectText details = {{"request_id", response.request_id},
                              {"file", exchange.response.path},
                              {"status", status_of(response)},
                              {"phase_key", phase_key(exchange)},
                              {"seconds", response.duration_seconds}};
  if (const auto* error = std::get_if<contracts::BridgeError>(&response.outcome)) {
    if (error->error_type) details.add("error_type", *error->error_type);
    details.add("error_message", error->error_message);
  }
  if (const auto* timeout = std::get_if<contracts::BridgeTimeout>(&response.outcome)) {
    details.add("error_message", timeout->error_message);
  }
  for (const std::string_view name : {"agent", "backend", "model", "requested_model",
                                      "provider_request_id", "input_tokens", "output_tokens"}) {
    if (const auto value = response.metadata.find(name)) details.add(name, *value);
  }
  add_question(details, exchange, response);
  return details;
}

}  // namespace

std::expected<std::string, Error> resolve_directory(const std::string& path) {
  std::error_code failed;
  const fs::path resolved = fs::canonical(path, failed);
  if (failed) {
    return fail(ErrorCode::unreadable, fmt::format("cannot be opened: {}", failed.message()), path);
  }
  if (!fs::is_directory(resolved, failed)) {
    return fail(ErrorCode::unreadable, "is not a directory", path);
  }
  return resolved.string();
}

bool is_replaceable(const ResponseFile& file) {
  if (suffix_of_response(fs::path(file.path).filename().string())) return true;
  if (file.state == FileState::unreadable) return false;  // A folder, a device, not ours to read.
  if (is_blank(file.text)) return true;
  const std::string text = contracts::rewrite_as_json(file.text).text;
  const json::Document document(text);
  return json::find_member(document.root(), "request_id").has_value();
}

std::expected<Driver, Error> Driver::open(const std::string& directory, const std::string& command,
                                          Reach reach) {
  TREATY_TRY(auto resolved, resolve_directory(directory));
  TREATY_TRY_VOID(make_folders(resolved));
  TREATY_TRY(auto lock, Lock::take(lock_path(resolved), command));
  TREATY_TRY(auto journal, read_journal(journal_path(resolved)));
  clear_leftovers(resolved);
  Driver driver(std::move(resolved), std::move(lock), std::move(journal.entries), reach);
  driver.tidy();
  return driver;
}

// What cannot be deleted now is deleted another time.
void Driver::tidy() const {
  const double now = seconds_of_timestamp(timestamp_now()).value_or(0);
  prune_quarantine(directory_, now);
  StillThere there{.has_file = [](const std::string& path) {
    std::error_code failed;
    return fs::exists(fs::symlink_status(path, failed));
  }};
  const auto exchanges = read_exchanges(directory_);
  if (!exchanges) return;
  for (const Exchange& exchange : *exchanges) {
    // What cannot be read may be any of those that were answered.
    if (exchange.request.state != FileState::absent && !exchange.is_asked()) return;
    if (exchange.is_asked()) there.request_ids.insert(exchange.request.document->request_id);
  }
  std::ignore = rewrite_journal(journal_path(directory_), [&](const std::vector<Entry>& entries) {
    return pruned(entries, there, now);
  });
}

std::expected<void, Error> Driver::note(std::string event, json::ObjectText details) {
  return append_to_journal(
      journal_path(directory_),
      Entry{.at = timestamp_now(), .event = std::move(event), .details = std::move(details)});
}

std::expected<std::string, Error> Driver::quarantine(const std::string& path,
                                                     std::string_view reason) {
  auto kept = move_to_quarantine(directory_, path, reason);
  if (!kept) return kept;
  TREATY_TRY_VOID(
      note("file.quarantined", {{"file", path}, {"reason", reason}, {"kept_as", *kept}}));
  return kept;
}

std::expected<void, Error> Driver::may_answer(const Exchange& exchange) const {
  const fs::path folder = fs::path(exchange.response.path).parent_path();
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return fail(ErrorCode::unwritable, fmt::format("cannot be written: {}", std::strerror(errno)),
                exchange.response.path);
  }
  return may_replace(exchange.response);
}

std::expected<void, Error> Driver::may_replace(const ResponseFile& there) const {
  if (reach_ == Reach::inside && !is_inside(directory_, there.path)) {
    return fail(ErrorCode::conflict, "response_file is outside of the directory", there.path);
  }
  if (there.state != FileState::absent && !is_replaceable(there)) {
    return fail(ErrorCode::conflict,
                "response_file names a file that is no answer; it stays as it is", there.path);
  }
  // Elsewhere lie answers of others, who may not have read them yet.
  if (there.state != FileState::absent && !is_inside(directory_, there.path) &&
      !has_answered_at(there.path)) {
    return fail(
        ErrorCode::conflict,
        "response_file names a file of another directory that was not written from here; it "
        "stays as it is",
        there.path);
  }
  return {};
}

bool Driver::has_answered_at(const std::string& path) const {
  const auto journal = read_journal(journal_path(directory_));
  return journal && std::ranges::any_of(journal->entries, [&](const Entry& entry) {
           return entry.event == "answer.written" && text_in(entry, "file") == path;
         });
}

// A request_id may be used again for a new question, while the old answer is still there.
AnswerState Driver::judge_now(const Exchange& exchange, const ResponseFile& there) const {
  const auto journal = read_journal(journal_path(directory_));
  const Exchange now{.suffix = exchange.suffix,
                     .request = exchange.request,
                     .response = there,
                     .answer = judge(exchange.request, there)};
  return journal ? judge_answer(now, answered_requests(journal->entries)) : now.answer;
}

std::expected<void, Error> Driver::clear_place(const Exchange& exchange, Existing existing) {
  const std::string& path = exchange.response.path;
  // An agent takes its time. What lies there now may be the answer to what is asked now.
  const RequestFile now = read_request(exchange.request.path);
  const auto& asked = exchange.request.document;
  if (asked && now.document && now.document->request_id != asked->request_id) {
    return fail(ErrorCode::conflict, "another request has taken its place", exchange.request.path);
  }
  const ResponseFile there = await_response(path, exchange.request.document);
  if (auto may = may_replace(there); !may) return may;
  if (is_being_written_now(there)) {
    return fail(ErrorCode::unavailable, "is being written at this moment; it stays as it is", path);
  }
  const AnswerState state = judge_now(exchange, there);
  if (state == AnswerState::none) return {};
  if (state == AnswerState::answered && existing == Existing::keep) {
    return fail(ErrorCode::conflict, "the request is answered already", path);
  }
  const auto kept = quarantine(path, state == AnswerState::answered ? "replaced" : name_of(state));
  std::error_code ignored;
  const bool is_gone = !kept && !fs::exists(fs::symlink_status(path, ignored));
  if (!kept && !is_gone) return std::unexpected(kept.error());
  return {};
}

std::expected<void, Error> Driver::write_answer(const Exchange& exchange,
                                                const contracts::BridgeResponse& response,
                                                Existing existing) {
  if (auto cleared = clear_place(exchange, existing); !cleared) return cleared;
  const contracts::BridgeResponse dated = dated_after(exchange.request, response);
  const std::string text = contracts::encode(dated);
  if (auto written = replace_file(exchange.response.path, text, Links::replace); !written) {
    return written;
  }
  return note("answer.written", details_of(exchange, dated));
}

}  // namespace treaty::bridge
