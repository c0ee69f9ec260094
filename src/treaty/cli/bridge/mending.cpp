#include "treaty/cli/bridge/mending.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "treaty/base/files.h"
#include "treaty/base/timestamp.h"
#include "treaty/base/try.h"
#include "treaty/bridge/diagnosis/remedy.h"
#include "treaty/bridge/diagnosis/view.h"
#include "treaty/bridge/names.h"
#include "treaty/bridge/quarantine.h"
#include "treaty/contracts/repair.h"

namespace treaty::cli {
namespace {

using bridge::Act;
using bridge::Exchange;
using bridge::FileState;
using bridge::Remedy;
using contracts::Contract;
using contracts::Repaired;

constexpr std::size_t kLargestAnswer = std::size_t{16} << 20U;  // JSON-03.
constexpr double kYoungLeftover = 60;  // Seconds in which a temporary file may be in use.

double age_of(std::int64_t changed_at, const std::string& now) {
  constexpr double kNanosecond = 1e-9;
  return seconds_of_timestamp(now).value_or(0) - static_cast<double>(changed_at) * kNanosecond;
}

class Mending {
 public:
  Mending(bridge::Driver& driver, const std::string& now, std::vector<Mended>& done)
      : driver_(driver), now_(now), done_(done) {}

  std::expected<void, Error> run() {
    TREATY_TRY_VOID(repair_requests());
    // Each step may free the place that another answer belongs to.
    constexpr int kMostSteps = 10'000;
    for (int step = 0; step < kMostSteps; ++step) {
      TREATY_TRY(const bool is_done, mend_one_answer());
      if (!is_done) break;
    }
    return put_leftovers_away();
  }

 private:
  using Step = std::expected<void, Error>;

  Step repair_requests() {
    TREATY_TRY(const auto exchanges, bridge::read_exchanges(driver_.directory()));
    for (const Exchange& exchange : exchanges) {
      if (exchange.request.state != FileState::broken) continue;
      const Repaired repaired =
          contracts::repair_text(Contract::bridge_request, exchange.request.text, {});
      auto decoded = contracts::decode_bridge_request(repaired.text);
      if (repaired.repairs.empty() || !decoded) continue;
      TREATY_TRY_VOID(
          replace(exchange.request.path, repaired, "request.repaired", decoded->request_id));
    }
    return {};
  }

  // False when there is nothing to do any more.
  std::expected<bool, Error> mend_one_answer() {
    const auto answered = bridge::answered_requests(driver_.history());
    TREATY_TRY(const auto exchanges, bridge::read_judged_exchanges(driver_.directory(), answered));
    const bridge::Surroundings around{exchanges, driver_.history(),
                                      seconds_of_timestamp(now_).value_or(0)};
    for (const Exchange& exchange : exchanges) {
      const Remedy remedy = bridge::remedy_for(exchange, around);
      if (remedy.act == Act::leave) continue;
      TREATY_TRY_VOID(apply(remedy, exchange));
      return true;
    }
    for (const auto& stray : bridge::find_stray_answers(driver_.directory(), exchanges, answered)) {
      const auto owner = std::ranges::find_if(exchanges, [&](const Exchange& exchange) {
        return exchange.waits() && exchange.request.document->request_id == stray.request_id;
      });
      if (owner == exchanges.end() || !makes_way(*owner, around.now)) continue;
      TREATY_TRY_VOID(move(stray.path, *owner));
      return true;
    }
    return false;
  }

  // Whether an answer from elsewhere can be put into the place of this one, of which no remedy made
  // an answer.
  static bool makes_way(const Exchange& exchange, double now) {
    const bridge::ResponseFile& file = exchange.response;
    if (file.state == FileState::absent) return true;
    if (bridge::is_being_written(file, now)) return false;
    return file.state != FileState::unreadable && bridge::is_replaceable(file);
  }

  Step apply(const Remedy& remedy, const Exchange& exchange) {
    const std::string& path = exchange.response.path;
    switch (remedy.act) {
      case Act::leave: break;
      case Act::put_away: return put_away(path, remedy.reason);
      case Act::move: return move(path, *remedy.owner);
      case Act::swap: return swap(exchange, *remedy.owner);
      case Act::repair:
        return replace(path, remedy.repaired, "answer.repaired", remedy.document->request_id);
    }
    return {};
  }

  // What is in the place of the answer goes to the quarantine. The directory of the place is
  // created if it is missing.
  Step move(const std::string& path, const Exchange& owner) {
    const std::string& place = owner.response.path;
    std::error_code ignored;  // The move fails then, too, and says why.
    std::filesystem::create_directories(std::filesystem::path(place).parent_path(), ignored);
    if (owner.answer != bridge::AnswerState::none) {
      TREATY_TRY_VOID(put_away(place, name_of(owner.answer)));
    }
    if (renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, place.c_str(), RENAME_NOREPLACE) == 0) {
      return note_move(path, owner);
    }
    if (errno != EXDEV && errno != EINVAL) return std::unexpected(not_moved(path, place));
    // Another file system, or one that does not know this way.
    TREATY_TRY(const auto text, read_file(path, kLargestAnswer));
    TREATY_TRY_VOID(create_file(place, text));
    TREATY_TRY_VOID(driver_.quarantine(path, "moved"));
    return note_move(path, owner);
  }

  Step swap(const Exchange& exchange, const Exchange& owner) {
    const std::string& path = exchange.response.path;
    const std::string& place = owner.response.path;
    if (renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, place.c_str(), RENAME_EXCHANGE) != 0) {
      return std::unexpected(not_moved(path, place));
    }
    TREATY_TRY_VOID(note_move(path, owner, kSwapped));
    const bool is_in_place = exchange.is_asked() &&
                             contracts::is_same_request_id(bridge::answered_id(owner.response.text),
                                                           exchange.request.document->request_id);
    return is_in_place ? journal_move(place, exchange) : Step();
  }

  static Error not_moved(const std::string& path, const std::string& place) {
    return {ErrorCode::unwritable,
            fmt::format("cannot be moved to {}: {}", place, std::strerror(errno)), path};
  }

  Step journal_move(const std::string& path, const Exchange& owner) {
    return driver_.note("answer.moved", {{"request_id", owner.request.document->request_id},
                                         {"file", path},
                                         {"moved_to", owner.response.path}});
  }

  Step note_move(const std::string& path, const Exchange& owner, std::string_view how = "moved") {
    const std::string& place = owner.response.path;
    for (const std::string& changed : {path, place}) {
      const auto folder = std::filesystem::path(changed).parent_path();
      TREATY_TRY_VOID(flush_directory(folder.empty() ? "." : folder.string()));
    }
    TREATY_TRY_VOID(journal_move(path, owner));
    done_.push_back({.file = path, .reason = std::string(how), .moved_to = place});
    return {};
  }

  // Requests have other writers than the driver, which may be alive.
  Step put_leftovers_away() {
    std::error_code failed;
    for (const std::string& name : names_in(driver_.directory(), failed)) {
      if (!bridge::suffix_of_request(name_of_replaced(name))) continue;
      const auto read = bridge::read_request(bridge::path_in(driver_.directory(), name));
      if (age_of(read.version.changed_at, now_) < kYoungLeftover) continue;
      if (auto away = put_away(read.path, "leftover"); !away) return away;
    }
    return {};
  }

  Step put_away(const std::string& path, std::string_view reason) {
    TREATY_TRY(auto kept, driver_.quarantine(path, reason));
    done_.push_back({.file = path, .reason = std::string(reason), .kept_as = std::move(kept)});
    return {};
  }

  // The original is safe before anything else happens.
  Step replace(const std::string& path, const Repaired& repaired, std::string event,
               const std::string& request_id) {
    TREATY_TRY(auto kept, bridge::copy_to_quarantine(driver_.directory(), path, "repaired"));
    if (auto written = replace_file(path, repaired.text, Links::replace); !written) return written;
    const auto noted = driver_.note(std::move(event), {{"request_id", request_id},
                                                       {"file", path},
                                                       {"repairs", repaired.repairs},
                                                       {"kept_as", kept}});
    if (!noted) return noted;
    done_.push_back({.file = path,
                     .reason = "repaired",
                     .repairs = repaired.repairs,
                     .kept_as = std::move(kept)});
    return {};
  }

  bridge::Driver& driver_;
  const std::string& now_;
  std::vector<Mended>& done_;
};

}  // namespace

std::expected<void, Error> mend_directory(bridge::Driver& driver, const std::string& now,
                                          std::vector<Mended>& done) {
  return Mending(driver, now, done).run();
}

}  // namespace treaty::cli
