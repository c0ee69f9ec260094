#include "treaty/cli/bridge/mending.h"

#include <algorithm>
#include <filesystem>

#include "treaty/base/files.h"
#include "treaty/base/timestamp.h"
#include "treaty/base/try.h"
#include "treaty/bridge/names.h"
#include "treaty/bridge/quarantine.h"
#include "treaty/cli/check/fix.h"

namespace treaty::cli {
namespace {

using bridge::AnswerState;
using bridge::Exchange;
using bridge::FileState;
using contracts::Contract;

constexpr double kYoung = 2;           // Seconds in which somebody may still be writing a file,
constexpr double kYoungLeftover = 60;  // and in which a temporary file may be in use.

double age_of(std::int64_t changed_at, const std::string& now) {
  constexpr double kNanosecond = 1e-9;
  return seconds_of_timestamp(now).value_or(0) - static_cast<double>(changed_at) * kNanosecond;
}

class Mending {
 public:
  Mending(bridge::Driver& driver, const std::string& now, std::vector<Mended>& done)
      : driver_(driver), now_(now), done_(done) {}

  std::expected<void, Error> run() {
    TREATY_TRY(auto exchanges, bridge::read_exchanges(driver_.directory()));
    for (Exchange& exchange : exchanges) {
      if (auto mended = mend(std::move(exchange)); !mended) return mended;
    }
    return put_leftovers_away();
  }

 private:
  using Step = std::expected<void, Error>;

  Step mend(Exchange exchange) {
    if (exchange.request.state == FileState::broken) {
      TREATY_TRY(auto repaired, repair_request(exchange));
      if (repaired) exchange = bridge::read_exchange(driver_.directory(), exchange.suffix);
    }
    const bool is_there = exchange.response.state != FileState::absent &&
                          exchange.response.state != FileState::unreadable;
    if (!is_there) return {};
    if (exchange.request.state == FileState::absent) return put_orphan_away(exchange);
    // What cannot be read as a request may still be meant as one: its answer is not judged.
    return exchange.is_asked() ? mend_answer(exchange) : Step{};
  }

  // Whether it is whole now.
  std::expected<bool, Error> repair_request(const Exchange& exchange) {
    const Repaired repaired = repair_text(Contract::bridge_request, exchange.request.text, {});
    if (repaired.repairs.empty() || !contracts::decode_bridge_request(repaired.text)) return false;
    TREATY_TRY_VOID(replace(exchange.request.path, repaired, "request.repaired"));
    return true;
  }

  Step mend_answer(const Exchange& exchange) {
    switch (exchange.answer) {
      case AnswerState::torn: return put_torn_away(exchange);
      case AnswerState::foreign:
      case AnswerState::stale: return put_away(exchange.response.path, name_of(exchange.answer));
      case AnswerState::broken: return repair_answer(exchange);
      case AnswerState::none:
      case AnswerState::unreadable:
      case AnswerState::answered: break;
    }
    return {};
  }

  Step repair_answer(const Exchange& exchange) {
    if (!bridge::is_replaceable(exchange.response)) return {};
    const contracts::DecodeOptions options{.request_id = exchange.request.document->request_id,
                                           .now = now_};
    const Repaired repaired =
        repair_text(Contract::bridge_response, exchange.response.text, options);
    auto decoded = contracts::decode_bridge_response(repaired.text, options);
    if (repaired.repairs.empty() || !decoded) return {};
    bridge::ResponseFile whole{
        .path = exchange.response.path, .state = FileState::whole, .document = std::move(*decoded)};
    // A time that got its zone may turn out to be yesterday's.
    if (bridge::judge(exchange.request, whole) != AnswerState::answered) {
      return put_away(exchange.response.path, name_of(AnswerState::stale));
    }
    return replace(exchange.response.path, repaired, "answer.repaired");
  }

  Step put_orphan_away(const Exchange& exchange) {
    const bool is_young = exchange.response.state == FileState::torn &&
                          age_of(exchange.response.version.changed_at, now_) < kYoung;
    return is_young ? Step{} : put_away(exchange.response.path, "orphaned");
  }

  Step put_torn_away(const Exchange& exchange) {
    if (age_of(exchange.response.version.changed_at, now_) < kYoung) return {};
    if (!bridge::is_replaceable(exchange.response)) return {};
    return put_away(exchange.response.path, name_of(AnswerState::torn));
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
  Step replace(const std::string& path, const Repaired& repaired, std::string event) {
    TREATY_TRY(auto kept, bridge::copy_to_quarantine(driver_.directory(), path, "repaired"));
    if (auto written = replace_file(path, repaired.text, Links::replace); !written) return written;
    const auto noted = driver_.note(
        std::move(event), {{"file", path}, {"repairs", repaired.repairs}, {"kept_as", kept}});
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
