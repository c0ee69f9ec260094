// Everything that the doctor has a word for. docs/guide/bridge.md has the same table; a test
// compares them.
#include <algorithm>
#include <iterator>

#include "treaty/bridge/diagnosis/diagnosis.h"
#include "treaty/bridge/diagnosis/wording.h"

namespace treaty::bridge {
namespace {

using enum Problem;
using enum Severity;

constexpr ProblemKind kKinds[] = {
    {directory_missing, "directory-missing", trouble, "mkdir -p DIR", "there is no such directory",
     "--dir names another place than the program's, or the directory was removed"},
    {not_a_directory, "not-a-directory", trouble, "treaty bridge doctor --dir PARENT",
     "it is a file, not a directory",
     "--dir has to name the directory of a request, not the request"},
    {directory_unreadable, "directory-unreadable", trouble, "chmod u+rwx DIR",
     "the directory cannot be read", "its permissions do not let this user look into it"},
    {directory_unwritable, "directory-unwritable", trouble, "chmod u+rwx DIR",
     "nothing can be written into the directory",
     "the answer, the lock and the journal are files in it"},
    {folder_unwritable, "folder-unwritable", trouble,
     "chmod u+rwx DIR/.treaty-bridge, or rm DIR/.treaty-bridge",
     "nothing can be written into .treaty-bridge",
     "the lock and the journal are files in it; another user may have made it, or it is a symbolic "
     "link"},
    {disk_full, "disk-full", trouble, "df -h DIR", "the disk is full",
     "an answer that does not fit is not written at all, rather than half"},
    {request_unreadable, "request-unreadable", trouble, "chmod u+r FILE",
     "the request cannot be read",
     "the program runs as another user, or something else has the file's name"},
    {request_being_written, "request-being-written", note, "sleep 2 && treaty bridge doctor",
     "the request is not whole yet", "a program is writing it at this moment"},
    {request_torn, "request-torn", trouble, "treaty bridge run -- PROGRAM, or mv FILE FILE.torn",
     "the request is empty, or ends in the middle",
     "the program was ended while it wrote it; one that writes to a temporary file and renames it "
     "cannot leave half a request"},
    {request_repairable, "request-repairable", trouble, "treaty bridge check --fix",
     "the request breaks its contract, and there is one way to repair it",
     "the program does not write what the contract says"},
    {request_broken, "request-broken", trouble, "mv FILE FILE.old",
     "the request breaks its contract",
     "the program does not write what the contract says, and no agent can be asked; correct the "
     "program, put this request aside and run the program again"},
    {request_waiting, "request-waiting", note, "treaty bridge answer",
     "a request waits for an agent",
     "the program has exited with 42; run it with --resume when the request is answered"},
    {request_overdue, "request-overdue", trouble, "treaty bridge answer",
     "a request has waited for longer than its timeout_seconds",
     "no driver is at work in this directory"},
    {request_refused, "request-refused", trouble, "treaty bridge answer, when the watch has ended",
     "a watch does not answer the request",
     "its response_file is outside of the directory, or its request_id was used before"},
    {request_left, "request-left", note, "", "a request is left that needs no answer any more",
     "it was answered, and the program has deleted the answer and ended"},
    {request_elsewhere, "request-elsewhere", note, "treaty bridge doctor --dir PLACE",
     "there is no request here, but one nearby",
     "it is of another program, or the program writes its request to another directory than this "
     "one"},
    {answer_unreadable, "answer-unreadable", trouble, "chmod u+r FILE", "the answer cannot be read",
     "another user wrote it, or something else has the file's name"},
    {answer_being_written, "answer-being-written", note, "sleep 2 && treaty bridge doctor",
     "the answer is not whole yet", "it is being written at this moment"},
    {answer_torn, "answer-torn", trouble, "treaty bridge check --fix",
     "the answer is empty, or ends in the middle",
     "its writer was killed; `treaty bridge respond` writes whole files or none"},
    {answer_byte_order_mark, "answer-byte-order-mark", trouble, "treaty bridge check --fix",
     "the answer begins with a byte order mark",
     "an editor or a shell has saved it as \"UTF-8 with BOM\"; JSON has none"},
    {answer_repairable, "answer-repairable", trouble, "treaty bridge check --fix",
     "the answer breaks its contract, and there is one way to repair it",
     "it was written by hand; `treaty bridge respond` writes the envelope"},
    {answer_bare, "answer-bare", trouble,
     "treaty bridge check --fix, or treaty bridge respond --text FILE",
     "the answer is an agent's bare output, without the envelope",
     "the agent's output was saved as it came; `treaty bridge respond` writes the envelope around "
     "it"},
    {answer_broken, "answer-broken", trouble, "treaty bridge answer",
     "the answer breaks its contract",
     "it was written by hand, and a repair would have to guess what was meant"},
    {answer_place_taken, "answer-place-taken", trouble, "mv FILE FILE.old && treaty bridge answer",
     "the file in the answer's place is no answer",
     "response_file names a file of something else; no driver overwrites it"},
    {answer_place_missing, "answer-place-missing", trouble, "mkdir -p PLACE",
     "the directory where the answer belongs does not exist",
     "response_file names a place that was removed, or is on another machine"},
    {answer_foreign, "answer-foreign", trouble, "treaty bridge check --fix",
     "the answer belongs to another request",
     "it is left from an earlier run, or its request_id was made up"},
    {answer_other_phase, "answer-other-phase", trouble,
     "mv FILE PLACE, or treaty bridge check --fix",
     "the answer to one request is in the place of another",
     "the answer has to have the suffix of its own request (-phaseN)"},
    {answer_stale, "answer-stale", trouble,
     "treaty bridge check --fix, or treaty bridge answer --replace",
     "the answer is older than the request",
     "it answers an earlier question, or the clocks of two machines differ"},
    {answer_orphaned, "answer-orphaned", trouble, "treaty bridge check --fix",
     "there is an answer, no request, and the journal does not know the answer",
     "it is left from an earlier run; the next program could take it for its own"},
    {answer_misplaced, "answer-misplaced", trouble, "mv FILE PLACE, or treaty bridge check --fix",
     "the answer is where the program does not look",
     "it was written to another directory or under another name"},
    {answer_gone, "answer-gone", trouble, "treaty bridge answer --replace",
     "the request was answered, and its answer is gone",
     "it was deleted or put away, and the request is still there"},
    {answer_error, "answer-error", trouble,
     "treaty bridge answer --replace, when the error is retryable", "the answer is an error",
     "the agent could not answer; the program gets the error when it is run with --resume"},
    {answer_timeout, "answer-timeout", trouble, "treaty bridge answer --replace",
     "the answer says that time ran out",
     "the agent took longer than the request's timeout_seconds"},
    {answer_ready, "answer-ready", note, "treaty bridge run -- PROGRAM, when a run was interrupted",
     "the request is answered, and the program has not been run again yet",
     "the program takes it when it is run with --resume"},
    {driver_at_work, "driver-at-work", note, "", "a driver is at work in this directory",
     "only one driver at a time answers here"},
    {lock_dead, "lock-dead", note, "", "the driver that had the lock is gone",
     "it was killed; the next one takes over"},
    {run_interrupted, "run-interrupted", trouble, "treaty bridge run -- PROGRAM",
     "a run was interrupted", "its driver or its program was ended, or it could not continue"},
    {run_asks_again, "run-asks-again", trouble, "treaty bridge log",
     "a run was stopped: the program asks again what was answered",
     "the program does not take the answer"},
    {run_asks_too_often, "run-asks-too-often", trouble, "treaty bridge log",
     "a run was stopped: the program asks too often",
     "the program does not take its answers, or one phase needs more of them than --max-resumes "
     "allows"},
    {run_without_request, "run-without-request", trouble,
     "treaty bridge run --dir PLACE -- PROGRAM, or treaty bridge log",
     "a program exited with 42 and had written no request",
     "it wrote its request elsewhere, or exited before it was written; TREATY_BRIDGE_DIR names the "
     "directory"},
    {run_failed, "run-failed", note, "treaty bridge log", "the last program that was driven failed",
     "that was its own exit code"},
    {journal_unreadable, "journal-unreadable", trouble, "chmod u+rw FILE",
     "the journal cannot be read", "another user may have made it; every driver needs it"},
    {journal_damaged, "journal-damaged", note, "treaty bridge log",
     "the journal has lines that are no entries",
     "a crash or a full disk cut them off, or they were edited; they are skipped and kept"},
    {leftovers, "leftovers", note, "treaty bridge check --fix",
     "writers that were killed have left unfinished files",
     "they were ended between writing and renaming; no program reads these files"},
    {quarantined, "quarantined", note, "ls DIR/.treaty-bridge/quarantine",
     "files are kept in the quarantine",
     "they were in the way, or could be taken for an answer; they are deleted after 30 days"},
};

constexpr bool is_in_order() {
  for (std::size_t place = 0; place < std::size(kKinds); ++place) {
    if (kKinds[place].problem != static_cast<Problem>(place)) return false;
  }
  return static_cast<std::size_t>(quarantined) + 1 == std::size(kKinds);
}
static_assert(is_in_order());

struct Cure {
  std::string_view error_type;
  std::string_view text;
};

constexpr Cure kCures[] = {
    {"auth_error",
     "correct the key of the agent's provider, then give `treaty bridge answer --replace`"},
    {"model_unavailable",
     "choose another model in the configuration, then give `treaty bridge answer --replace`"},
    {"context_length", "the program has to ask for less at once, in a new request"},
    {"content_filter", "the program has to ask in other words, in a new request"},
    {"invalid_request",
     "correct the configuration of the agent and give `treaty bridge answer --replace`, or correct "
     "the program and let it ask in a new request"},
};

}  // namespace

std::string_view cure_of(std::string_view error_type) {
  const auto* const cure = std::ranges::find(kCures, error_type, &Cure::error_type);
  if (cure != std::end(kCures)) return cure->text;
  return "remove the cause that the message names, then give `treaty bridge answer --replace`";
}

std::span<const ProblemKind> problem_kinds() { return kKinds; }

const ProblemKind& kind_of(Problem problem) { return kKinds[static_cast<std::size_t>(problem)]; }

}  // namespace treaty::bridge
