#include "treaty/backends/bridge/slots.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "treaty/base/clock.h"
#include "treaty/base/files.h"
#include "treaty/base/process/file_descriptor.h"
#include "treaty/base/timestamp.h"
#include "treaty/base/try.h"
#include "treaty/bridge/driver.h"
#include "treaty/bridge/exchange.h"
#include "treaty/bridge/journal.h"
#include "treaty/bridge/names.h"
#include "treaty/bridge/quarantine.h"
#include "treaty/bridge/result_file.h"

namespace treaty::backends {
namespace {

namespace fs = std::filesystem;
using bridge::AnswerState;
using bridge::Exchange;
using contracts::AgentResult;
using contracts::BridgeRequest;

// What killed writers left is not written to any more after this time.
constexpr auto kLeftover = std::chrono::minutes(1);

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// Held while places are looked for and taken: others wait, for some milliseconds.
class AskersLock {
 public:
  explicit AskersLock(const std::string& directory) {
    const std::string path = bridge::path_in(directory, fmt::format("{}/asking", bridge::kFolder));
    file_ = FileDescriptor(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
    while (file_ && flock(file_.get(), LOCK_EX) != 0 && errno == EINTR) {
    }
  }

  bool is_held() const { return static_cast<bool>(file_); }

 private:
  FileDescriptor file_{};
};

std::string request_path(const BridgePlace& place) {
  return bridge::path_in(place.directory, bridge::request_name(place.suffix));
}

std::string response_path(const std::string& directory, const std::string& suffix) {
  return bridge::path_in(directory, bridge::response_name(suffix));
}

bool is_there(const std::string& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

// Keeps a file in the quarantine, and tells so in the journal of the directory, where people look.
void set_aside(const std::string& directory, const std::string& path, std::string_view reason,
               const std::string& problem = {}) {
  if (!is_there(path)) return;
  const auto kept = bridge::move_to_quarantine(directory, path, reason);
  if (!kept) return;
  json::ObjectText details = {{"file", path}, {"reason", reason}, {"kept_as", *kept}};
  if (!problem.empty()) details.add("problem", problem);
  std::ignore = bridge::append_to_journal(
      bridge::journal_path(directory),
      {.at = timestamp_now(), .event = "file.quarantined", .details = std::move(details)});
}

// What is asked, whoever asks it, when, and wherever the answer goes.
std::size_t question_of(BridgeRequest request) {
  request.request_id.clear();
  request.created_at.clear();
  request.response_file.reset();
  request.context.erase(kAskedBy);
  return std::hash<std::string>()(encode(request));
}

std::string suffix_of(std::int64_t number) {
  return number == 0 ? std::string() : bridge::suffix_of_phase(number);
}

// The numbers of the places that have a request.
std::set<std::int64_t> taken_places(const std::string& directory) {
  std::set<std::int64_t> taken;
  std::error_code failed;
  for (const std::string& name : names_in(directory, failed)) {
    const auto suffix = bridge::suffix_of_request(name);
    if (suffix) taken.insert(bridge::phase_of_suffix(*suffix).value_or(0));
  }
  return taken;
}

// Requests that were being written when their writer was killed.
void clear_leftovers(const std::string& directory) {
  std::error_code failed;
  for (const std::string& name : names_in(directory, failed)) {
    if (!bridge::suffix_of_request(name_of_replaced(name))) continue;
    const std::string path = bridge::path_in(directory, name);
    const auto written_at = fs::last_write_time(path, failed);
    if (!failed && fs::file_time_type::clock::now() - written_at > kLeftover) {
      fs::remove(path, failed);
    }
  }
}

contracts::AgentError refusal(std::string_view what, const Exchange& exchange) {
  return {.message =
              fmt::format("the agent's answer {}{}{}", what,
                          exchange.response.problem.empty() ? "" : ": ", exchange.response.problem),
          .code = "server_error",
          .type = "BrokenAnswer",
          .retryable = true};
}

// What is wrong with an answer that is there and cannot become a good one any more.
std::string_view fault_of(AnswerState state) {
  switch (state) {
    case AnswerState::unreadable: return "cannot be read";
    case AnswerState::broken: return "breaks its contract";
    case AnswerState::stale: return "says that it is older than the question";
    case AnswerState::none:
    case AnswerState::torn:
    case AnswerState::foreign:  // Drivers take it out of the way.
    case AnswerState::answered: break;
  }
  return {};
}

// Whether the request is that of a server which is gone.
bool is_abandoned(const std::optional<BridgeRequest>& request) {
  const auto asker = request ? find_asker(*request) : std::nullopt;
  return asker && asker->is_gone();
}

// The exchange as it lies there. Whoever answers may have taken the request away, and somebody may
// have put another one there.
Exchange look_at(const BridgePlace& place) {
  Exchange exchange = bridge::read_exchange(place.directory, place.suffix);
  const bool is_ours =
      exchange.is_asked() && exchange.request.document->request_id == place.request_id;
  if (is_ours) return exchange;
  const bool is_away = exchange.request.state == bridge::FileState::absent;
  exchange.request.state = bridge::FileState::absent;
  exchange.request.document.emplace().request_id = place.request_id;
  exchange.response = bridge::read_response(response_path(place.directory, place.suffix),
                                            exchange.request.document);
  exchange.answer = bridge::judge(exchange.request, exchange.response);
  if (!is_away && exchange.answer != AnswerState::answered) exchange.answer = AnswerState::foreign;
  return exchange;
}

}  // namespace

// Containers share the boot of their machine and not its processes: they differ in their names.
bool Asker::is_gone() const { return host == host_name() && !bridge::is_running(process); }

Asker this_asker(double until) {
  return {.host = host_name(), .process = bridge::this_process(), .until = until};
}

void set_asker(contracts::BridgeRequest& request, const Asker& asker) {
  request.context.set(kAskedBy, json::ObjectText{{"host", asker.host},
                                                 {"pid", asker.process.pid},
                                                 {"started", asker.process.started},
                                                 {"boot", asker.process.boot},
                                                 {"until", asker.until}});
}

std::optional<Asker> find_asker(const contracts::BridgeRequest& request) {
  const auto object = request.context.find_object(kAskedBy);
  if (!object) return std::nullopt;
  auto host = object->find_text("host");
  const auto pid = object->find_integer("pid");
  auto started = object->find_text("started");
  auto boot = object->find_text("boot");
  const auto until = object->find_number("until");
  if (!host || !pid || *pid < 1 || *pid > std::numeric_limits<pid_t>::max() || !started || !boot ||
      !until) {
    return std::nullopt;
  }
  return Asker{.host = *std::move(host),
               .process = {.pid = static_cast<pid_t>(*pid),
                           .started = *std::move(started),
                           .boot = *std::move(boot)},
               .until = *until};
}

void BridgeSlots::find_abandoned(const std::string& directory) {
  has_looked_ = true;
  clear_leftovers(directory);
  for (const std::int64_t number : taken_places(directory)) {
    const std::string suffix = suffix_of(number);
    const auto file =
        bridge::read_request(bridge::path_in(directory, bridge::request_name(suffix)));
    if (is_abandoned(file.document)) {
      abandoned_.push_back(
          {suffix, question_of(*file.document), find_asker(*file.document)->until});
    }
  }
}

void BridgeSlots::clear_expired(const std::string& directory) {
  const double at = unix_seconds(std::chrono::system_clock::now());
  std::erase_if(abandoned_, [&](const AbandonedRequest& request_left) {
    if (request_left.until > at) return false;
    const BridgePlace place{.directory = directory, .suffix = request_left.suffix};
    const auto file = bridge::read_request(request_path(place));
    if (!is_abandoned(file.document)) return true;  // Somebody else has the place now.
    set_aside(directory, file.path, "abandoned");
    set_aside(directory, response_path(directory, request_left.suffix), "abandoned");
    return true;
  });
}

std::optional<BridgePlace> BridgeSlots::take_over(const std::string& directory,
                                                  const BridgeRequest& request, double until) {
  const std::size_t question = question_of(request);
  for (auto request_left = abandoned_.begin(); request_left != abandoned_.end(); ++request_left) {
    if (request_left->question != question) continue;
    BridgePlace place{.directory = directory, .suffix = request_left->suffix};
    abandoned_.erase(request_left);
    auto file = bridge::read_request(request_path(place));
    if (!is_abandoned(file.document) || question_of(*file.document) != question) {
      return take_over(directory, request, until);
    }
    place.request_id = file.document->request_id;
    set_asker(*file.document, {self_.host, self_.process, until});
    if (!replace_file(file.path, encode(*file.document), Links::replace)) return std::nullopt;
    return place;
  }
  return std::nullopt;
}

std::expected<BridgePlace, Error> BridgeSlots::ask(BridgeRequest request, double until) {
  TREATY_TRY(const auto directory, bridge::resolve_directory(directory_));
  TREATY_TRY_VOID(bridge::make_folders(directory));
  const AskersLock lock(directory);
  if (!lock.is_held()) {
    return fail(ErrorCode::unwritable, fmt::format("cannot be locked: {}", std::strerror(errno)),
                directory);
  }
  if (!has_looked_) find_abandoned(directory);
  if (auto place = take_over(directory, request, until)) return *std::move(place);
  clear_expired(directory);
  set_asker(request, {self_.host, self_.process, until});
  const std::set<std::int64_t> taken = taken_places(directory);
  for (std::int64_t number = 0;; ++number) {
    if (taken.contains(number)) continue;
    BridgePlace place{directory, suffix_of(number), request.request_id};
    request.response_file = response_path(directory, place.suffix);
    set_aside(directory, *request.response_file, "late");  // Nobody waits for it any more.
    const auto created = create_file(request_path(place), encode(request));
    if (created) return place;
    if (created.error().code != ErrorCode::conflict) return std::unexpected(created.error());
  }
}

std::optional<AgentResult> BridgeSlots::collect(const BridgePlace& place) {
  if (!is_there(response_path(place.directory, place.suffix))) return std::nullopt;
  const Exchange exchange = look_at(place);
  const bool is_answered = exchange.answer == AnswerState::answered;
  const std::string_view fault = fault_of(exchange.answer);
  if (!is_answered && fault.empty()) return std::nullopt;
  // The request first: a crash in between must not leave a question that was answered.
  std::error_code ignored;
  if (exchange.is_asked()) fs::remove(exchange.request.path, ignored);
  if (is_answered) {
    AgentResult result = bridge::result_of(*exchange.response.document);
    fs::remove(exchange.response.path, ignored);
    return result;
  }
  set_aside(place.directory, exchange.response.path, bridge::name_of(exchange.answer),
            exchange.response.problem);
  return AgentResult{.finish_reason = "error", .error = refusal(fault, exchange)};
}

void BridgeSlots::withdraw(const BridgePlace& place) {
  const auto file = bridge::read_request(request_path(place));
  if (!file.document || file.document->request_id != place.request_id) return;
  std::error_code ignored;
  fs::remove(file.path, ignored);
}

}  // namespace treaty::backends
