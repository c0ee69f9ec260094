// Requests and answers: what is wrong with each, and with the two together.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "treaty/base/timestamp.h"
#include "treaty/bridge/diagnosis/absence.h"
#include "treaty/bridge/diagnosis/placement.h"
#include "treaty/bridge/diagnosis/wording.h"
#include "treaty/bridge/driver.h"
#include "treaty/bridge/names.h"
#include "treaty/bridge/questions.h"
#include "treaty/contracts/text/handwritten_json.h"

namespace treaty::bridge {
namespace {

constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";

template <class Document>
double age_of(const DirectoryView& view, const BridgeFile<Document>& file) {
  constexpr double kNanosecond = 1e-9;
  return view.now - static_cast<double>(file.version.changed_at) * kNanosecond;
}

// What is known of all exchanges, worked out once.
struct Known {
  explicit Known(const DirectoryView& view)
      : run(replay_run(view.journal.entries)),
        answered(answered_requests(view.journal.entries)),
        remedies({view.exchanges, view.journal.entries, view.now}) {}

  RunState run;
  AnsweredQuestions answered;
  Remedies remedies;
};

class ExchangeDiagnosis {
 public:
  ExchangeDiagnosis(const DirectoryView& view, const Known& known, const Exchange& exchange,
                    std::vector<Diagnosis>& found)
      : view_(view),
        known_(known),
        exchange_(exchange),
        run_(known.run),
        remedy_(known.remedies.of(exchange)),
        found_(found) {}

  void run() {
    switch (exchange_.request.state) {
      case FileState::absent: look_at_orphan(); return;
      case FileState::unreadable:
        look_at_unreadable(Problem::request_unreadable, exchange_.request);
        return;
      case FileState::torn: look_at_torn_request(); return;
      case FileState::broken: look_at_broken_request(); return;
      case FileState::whole: look_at_answer(); return;
    }
  }

 private:
  const std::string& place() const { return exchange_.response.path; }
  const contracts::BridgeRequest& request() const { return *exchange_.request.document; }
  bool is_driven() const { return view_.lock.state == LockState::held; }

  void add(Problem problem, std::string what, std::vector<Words> mend) {
    bridge::add(found_, problem, std::move(what), std::move(mend));
  }

  // Which of several is meant.
  Words with_phase(Words words) const {
    const std::string key = phase_key(exchange_);
    if (view_.exchanges.size() > 1 && !key.empty()) words.insert(words.end(), {"--phase", key});
    return words;
  }

  std::vector<Words> fix() const { return {bridge_command(view_, "check", {"--fix"})}; }
  // The agent is asked once more only when that is meant.
  std::vector<Words> answer(bool is_again = false) const {
    const bool is_replaced = is_again || was_answered(exchange_, known_.answered);
    return answer_again(view_, request().request_id,
                        with_phase(is_replaced ? Words{"--replace"} : Words{}));
  }
  // An answer that is there, in a wrong place, is moved rather than asked for again.
  std::vector<Words> fix_or_answer() const { return is_answered_elsewhere() ? fix() : answer(); }

  static std::vector<Words> after(Words first, std::vector<Words> then) {
    then.insert(then.begin(), std::move(first));
    return then;
  }

  // When no writer can be at work any more.
  std::vector<Words> look_again() const {
    return {{"sleep", "2"}, bridge_command(view_, "doctor")};
  }

  // After this the program has to write another request.
  std::vector<Words> put_request_aside() const {
    return {{"mv", exchange_.request.path, backup_path(view_, exchange_.request.path, "old")}};
  }

  // What goes on with the program: the run that was interrupted, if one was.
  bool can_run_again() const { return run_.stage != Stage::none && !run_.command.empty(); }
  std::vector<Words> go_on(std::vector<Words> otherwise) const {
    if (is_driven()) return {};
    return can_run_again() ? run_again(view_, run_) : std::move(otherwise);
  }

  template <class Document>
  void look_at_unreadable(Problem problem, const BridgeFile<Document>& file) {
    const bool is_denied = file.problem.contains(std::strerror(EACCES));
    if (!is_below(view_, file.path)) {
      add(problem, fmt::format("{} {}", file.path, file.problem), put_request_aside());
      return;
    }
    add(problem, fmt::format("{} {}", file.path, file.problem),
        {is_denied ? Words{"chmod", "u+r", file.path}
                   : Words{"mv", file.path, backup_path(view_, file.path, "old")}});
  }

  void look_at_torn_request() {
    const RequestFile& file = exchange_.request;
    if (is_being_written(file, view_.now)) {
      add(Problem::request_being_written, fmt::format("{}: {}", file.path, file.problem),
          look_again());
      return;
    }
    add(Problem::request_torn, fmt::format("{}: {}", file.path, file.problem),
        go_on({{"mv", file.path, backup_path(view_, file.path, "torn")}}));
  }

  void look_at_broken_request() {
    const RequestFile& file = exchange_.request;
    const bool repairable = static_cast<bool>(contracts::decode_bridge_request(
        contracts::repair_text(contracts::Contract::bridge_request, file.text, {}).text));
    // A response_file that is no place for an answer breaks no rule of the contract.
    if (repairable && !file.verdict.valid()) {
      add(Problem::request_repairable, fmt::format("{}: {}", file.path, file.problem), fix());
    } else {
      const contracts::Verdict verdict = verdict_after_repair(file).verdict;
      add(Problem::request_broken,
          fmt::format("{}: {}", file.path,
                      verdict.valid() ? file.problem : first_of(verdict.violations)),
          put_request_aside());
    }
  }

  void look_at_orphan() {
    const ResponseFile& file = exchange_.response;
    if (file.state == FileState::unreadable) {
      look_at_unreadable(Problem::answer_unreadable, file);
    } else if (is_being_written(file, view_.now)) {
      add(Problem::answer_being_written, fmt::format("{}: {}", file.path, file.problem),
          look_again());
    } else if (look_for_its_phase()) {
      return;
    } else if (is_known_answer(exchange_, view_.journal.entries)) {
      look_at_known_answer();
    } else {
      add(Problem::answer_orphaned,
          fmt::format("{} is there, and {} is not", file.path, request_name(exchange_.suffix)),
          fix());
    }
  }

  // The host has deleted the request, as it may after an answer.
  void look_at_known_answer() {
    const std::string& id = file_document().request_id;
    if (was_taken(view_.journal.entries, id)) return;
    add(Problem::answer_ready,
        fmt::format("{} answers request {}; the journal knows the answer, and the request was "
                    "deleted afterwards",
                    place(), id),
        go_on({}));
  }

  const contracts::BridgeResponse& file_document() const {
    return remedy_.document ? *remedy_.document : *exchange_.response.document;
  }

  void look_at_answer() {
    look_for_strays();
    switch (exchange_.answer) {
      case AnswerState::none: look_at_waiting(); return;
      case AnswerState::unreadable:
        look_at_unreadable(Problem::answer_unreadable, exchange_.response);
        return;
      case AnswerState::torn: look_at_torn_answer(); return;
      case AnswerState::broken: look_at_broken_answer(); return;
      case AnswerState::foreign: look_at_foreign_answer(); return;
      case AnswerState::stale: look_at_stale_answer(); return;
      case AnswerState::answered: look_at_outcome(); return;
    }
  }

  void look_for_strays() {
    if (exchange_.answer == AnswerState::answered) return;
    const auto stray =
        std::ranges::find(view_.strays, request().request_id, &StrayAnswer::request_id);
    if (stray == view_.strays.end()) return;
    std::vector<Words> mend = move_to(exchange_, stray->path);
    if (exchange_.answer != AnswerState::none) {
      mend.insert(mend.begin(), {"mv", place(), backup_path(view_, place(), "old")});
    }
    add(Problem::answer_misplaced, fmt::format("{} {}", stray->path, stray_text(exchange_)),
        std::move(mend));
  }

  // Moves an answer to where the program of `owner` looks for it.
  std::vector<Words> move_to(const Exchange& owner, const std::string& path) const {
    const std::string folder = folder_of(owner.response.path);
    const Words move = {"mv", path, owner.response.path};
    if (is_missing(folder)) return {{"mkdir", "-p", folder}, move};
    return {move};
  }

  static std::string folder_of(const std::string& path) {
    return std::filesystem::path(path).parent_path().string();
  }
  bool is_missing(const std::string& folder) const {
    return std::ranges::find(view_.missing_places, folder) != view_.missing_places.end();
  }

  bool has_stray() const {
    return std::ranges::find(view_.strays, request().request_id, &StrayAnswer::request_id) !=
           view_.strays.end();
  }

  // In the place of another request, or where no program looks.
  bool is_answered_elsewhere() const {
    return has_stray() || known_.remedies.place_of_answer_to(exchange_) != nullptr;
  }

  void look_at_waiting() {
    if (is_answered_elsewhere()) return;  // Which is reported with its place.
    const std::string folder = folder_of(place());
    if (is_missing(folder)) {
      add(Problem::answer_place_missing, fmt::format("there is no directory {}", folder),
          {{"mkdir", "-p", folder}});
      return;
    }
    if (absence_of(exchange_, view_.journal.entries) != Absence::waits) {
      look_at_gone_answer();
      return;
    }
    if (look_for_refusal()) return;
    const auto asked = seconds_of_timestamp(request().created_at);
    const double age = asked ? view_.now - *asked : age_of(view_, exchange_.request);
    const std::string what =
        fmt::format("{} has waited for the agent {} for {}", exchange_.request.path,
                    request().agent_name, duration_text(age));
    if (age <= static_cast<double>(request().timeout_seconds) || is_driven()) {
      add(Problem::request_waiting, what, go_on(answer()));
    } else {
      add(Problem::request_overdue,
          fmt::format("{}, longer than its timeout_seconds ({})", what, request().timeout_seconds),
          go_on(answer()));
    }
  }

  bool look_for_refusal() {
    const std::string problem = refusal_of(exchange_, view_.journal.entries);
    if (problem.empty()) return false;
    add(Problem::request_refused,
        fmt::format("{} was refused: {}", exchange_.request.path, problem),
        is_driven() ? std::vector<Words>{bridge_command(view_, "log")} : answer());
    return true;
  }

  void look_at_gone_answer() {
    if (absence_of(exchange_, view_.journal.entries) == Absence::taken) {
      add(Problem::request_left, gone_text(exchange_), {});
    } else {
      bridge::add(found_, Problem::answer_gone, gone_text(exchange_), answer(true),
                  why_gone(exchange_, view_.journal.entries));
    }
  }

  void look_at_torn_answer() {
    const ResponseFile& file = exchange_.response;
    const std::string what = fmt::format("{}: {}", file.path, file.problem);
    if (is_being_written(file, view_.now)) {
      add(Problem::answer_being_written, what, look_again());
    } else if (!look_for_another_use()) {
      add(Problem::answer_torn, what, fix());
    }
  }

  // A response_file that names something of somebody else's.
  bool look_for_another_use() {
    const ResponseFile& file = exchange_.response;
    if (is_replaceable(file)) return false;
    add(Problem::answer_place_taken,
        fmt::format("response_file names {}, which is a file of something else", file.path),
        is_below(view_, file.path)
            ? after({"mv", file.path, backup_path(view_, file.path, "old")}, fix_or_answer())
            : put_request_aside());
    return true;
  }

  void look_at_broken_answer() {
    const ResponseFile& file = exchange_.response;
    if (look_for_another_use()) return;
    const std::string what = fmt::format("{}: {}", file.path, file.problem);
    if (remedy_.act == Act::repair) {
      const bool is_marked = file.text.starts_with(kUtf8Mark);
      const bool is_bare = contracts::is_bare_output(contracts::rewrite_as_json(file.text).text);
      add(is_bare     ? Problem::answer_bare
          : is_marked ? Problem::answer_byte_order_mark
                      : Problem::answer_repairable,
          what, fix());
      return;
    }
    if (remedy_.act == Act::put_away && remedy_.document) return look_at_stale_answer();
    if (remedy_.act != Act::leave) return look_at_foreign_answer();
    const contracts::Verdict verdict = verdict_after_repair(exchange_, file).verdict;
    // An object that may report a failure breaks BRS-14 also after the repair.
    if (is_bare_text(file.text) && !breaks(verdict, "BRS-14") && !is_answered_elsewhere()) {
      add(Problem::answer_bare, fmt::format("{} is a text without the envelope", file.path),
          {bridge_command(view_, "respond", with_phase({"--text", file.path}))});
    } else {
      add(Problem::answer_broken,
          verdict.valid() ? what : fmt::format("{}: {}", file.path, first_of(verdict.violations)),
          fix_or_answer());
    }
  }

  void look_at_foreign_answer() {
    if (look_for_its_phase()) return;
    const std::string id = answered_id(exchange_.response.text);
    add(Problem::answer_foreign,
        fmt::format("{} answers {}, and {} asks {}", place(),
                    id.empty() ? "another request" : fmt::format("request {}", id),
                    exchange_.request.path, request().request_id),
        fix());
  }

  // Whether the answer is to a request of another phase in this directory.
  bool look_for_its_phase() {
    const Exchange* owner = remedy_.owner;
    if (owner == nullptr) return false;
    if (known_.remedies.are_swapped(exchange_, *owner)) {
      look_at_swapped(*owner);
      return true;
    }
    const bool is_free = remedy_.act == Act::move && owner->answer == AnswerState::none;
    add(Problem::answer_other_phase, fmt::format("{} {}", place(), misplacement_text(remedy_)),
        remedy_.act == Act::leave ? make_way(*owner)
        : is_free                 ? move_to(*owner, place())
                                  : fix());
    return true;
  }

  // Reported once, with the first of the two.
  void look_at_swapped(const Exchange& other) {
    if (&other < &exchange_) return;
    add(Problem::answer_other_phase,
        fmt::format("two answers are in each other's place: {} answers {}, and {} answers {}",
                    place(), other.request.path, other.response.path, exchange_.request.path),
        fix());
  }

  // For an answer whose place has a file that no command may move away by itself.
  std::vector<Words> make_way(const Exchange& owner) const {
    const ResponseFile& there = owner.response;
    if (is_being_written(there, view_.now)) return look_again();
    if (!is_below(view_, there.path)) return {{"ls", "-l", there.path}};
    return {{"mv", there.path, backup_path(view_, there.path, "old")}, fix().front()};
  }

  void look_at_stale_answer() {
    if (look_for_its_phase()) return;
    Exchange judged = exchange_;  // A broken answer is judged as it is after its repair.
    judged.response.state = FileState::whole;
    judged.response.document = file_document();
    const StaleReason reason = stale_reason(judged, known_.answered);
    const std::string what = fmt::format("{} {}", place(), text_of(reason, judged));
    switch (reason) {
      case StaleReason::earlier_question:
        bridge::add(found_, Problem::answer_stale, what, fix(),
                    "the program used the request_id of the earlier question again");
        return;
      case StaleReason::asked_again:
        bridge::add(found_, Problem::answer_stale, what, answer(true),
                    "the program did not take the answer, or was started again; the agent is asked "
                    "again only with --replace");
        return;
      case StaleReason::older: add(Problem::answer_stale, what, fix()); return;
    }
  }

  void look_at_outcome() {
    if (look_for_refusal()) return;
    if (was_taken(view_.journal.entries, request().request_id)) return;
    const auto& outcome = exchange_.response.document->outcome;
    if (const auto* error = std::get_if<contracts::BridgeError>(&outcome)) {
      look_at_error(*error);
    } else if (const auto* timeout = std::get_if<contracts::BridgeTimeout>(&outcome)) {
      add(Problem::answer_timeout,
          fmt::format("{} says that time ran out: {}", place(), timeout->error_message),
          answer(true));
    } else {
      add(Problem::answer_ready, fmt::format("{} is answered", exchange_.request.path), go_on({}));
    }
  }

  void look_at_error(const contracts::BridgeError& error) {
    const std::string type = error.error_type.value_or("");
    const std::string what =
        fmt::format("{} is an error{}: {}", place(), type.empty() ? "" : fmt::format(" ({})", type),
                    error.error_message);
    const bool is_final =
        exchange_.response.document->metadata.find_boolean("retryable") == std::optional(false);
    if (!is_final) {
      add(Problem::answer_error, what, answer(true));
      return;
    }
    bridge::add(
        found_, Problem::answer_error, what, go_on({}),
        fmt::format("asking again gives the same error (metadata.retryable is false): {}; the "
                    "program gets the error when it is run with --resume",
                    cure_of(type)));
  }

  const DirectoryView& view_;
  const Known& known_;
  const Exchange& exchange_;
  const RunState& run_;
  const Remedy& remedy_;
  std::vector<Diagnosis>& found_;
};

}  // namespace

void diagnose_exchanges(const DirectoryView& view, std::vector<Diagnosis>& found) {
  const Known known(view);
  for (const Exchange& exchange : view.exchanges) {
    ExchangeDiagnosis(view, known, exchange, found).run();
  }
}

}  // namespace treaty::bridge
