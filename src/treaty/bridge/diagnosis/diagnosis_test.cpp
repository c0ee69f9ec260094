#include "treaty/bridge/diagnosis/diagnosis.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>

#include "treaty/base/timestamp.h"
#include "treaty/bridge/diagnosis/wording.h"
#include "treaty/bridge/names.h"

using namespace treaty;
using namespace treaty::bridge;
using contracts::BridgeRequest;
using contracts::BridgeResponse;

namespace {

constexpr const char* kId = "6f1c2a34-9d0b-4e57-8a1f-2b7c5d90e3a6";
constexpr const char* kOtherId = "0b8de6c2-51f7-4a3e-9c44-7d2f1e6ab905";
constexpr const char* kAsked = "2026-11-16T10:00:00Z";
constexpr double kSecond = 1'000'000'000;

BridgeRequest request(const std::string& id = kId) {
  return {.request_id = id,
          .version = "1.0",
          .agent_name = "reviewer",
          .prompt = "Review it.",
          .created_at = kAsked};
}

BridgeResponse response(const std::string& id = kId) {
  return {.request_id = id,
          .outcome = contracts::BridgeSuccess{"Fine."},
          .created_at = "2026-11-16T10:00:30Z"};
}

double now() { return *seconds_of_timestamp(kAsked) + 60; }

// A minute after it was asked, which is within its time.
DirectoryView view(std::vector<Exchange> exchanges = {}) {
  return {.exchanges = std::move(exchanges), .now = now()};
}

Exchange asked(const std::string& suffix = "", const BridgeRequest& question = request()) {
  Exchange exchange{.suffix = suffix};
  exchange.request = {
      .path = request_name(suffix), .state = FileState::whole, .document = question};
  exchange.response.path = response_name(suffix);
  return exchange;
}

// The answer's file holds this text since long.
Exchange with_answer(Exchange exchange, const std::string& text) {
  exchange.response.text = text;
  exchange.response.version.changed_at = static_cast<std::int64_t>((now() - 30) * kSecond);
  auto decoded = contracts::decode_bridge_response(
      text, {.request_id = exchange.request.document
                               ? std::optional(exchange.request.document->request_id)
                               : std::nullopt});
  exchange.response.state = decoded ? FileState::whole : FileState::broken;
  if (decoded) {
    exchange.response.document = *decoded;
  } else {
    exchange.response.problem = std::string(decoded.error().front().rule.text());
  }
  exchange.response.verdict = decoded.verdict();
  exchange.answer = judge(exchange.request, exchange.response);
  return exchange;
}

Entry entry(std::string event, json::ObjectText details = {}) {
  return {.at = kAsked, .event = std::move(event), .details = std::move(details)};
}

std::vector<std::string> codes(const DirectoryView& seen) {
  std::vector<std::string> all;
  for (const Diagnosis& diagnosis : diagnose(seen)) all.emplace_back(diagnosis.kind().code);
  return all;
}

Diagnosis only(const DirectoryView& seen) {
  const auto found = diagnose(seen);
  REQUIRE(found.size() == 1);
  return found.front();
}

using Codes = std::vector<std::string>;

TEST_CASE("Nothing is wrong where nothing is asked") {
  CHECK(diagnose(view()).empty());
  CHECK(status_of(view()) == DirectoryStatus::idle);
}

TEST_CASE("Codes are all different, and all but what mends itself has a next step") {
  std::set<std::string_view> seen;
  for (const ProblemKind& kind : problem_kinds()) {
    CHECK(seen.insert(kind.code).second);
    CHECK(!kind.what.empty());
    CHECK(!kind.why.empty());
    CHECK((kind.severity == Severity::note || !kind.mend.empty()));
  }
}

TEST_CASE("A disk without space or without room for a file is full") {
  DirectoryView seen = view();
  seen.space = Space{.bytes = 4096, .files = 100};
  CHECK(only(seen).mend == std::vector<Words>{{"df", "-h", "."}});
  seen.space = Space{.bytes = std::uint64_t{1} << 40U, .files = 0};
  CHECK(only(seen).mend == std::vector<Words>{{"df", "-i", "."}});
  seen.space = Space{.bytes = std::uint64_t{1} << 40U, .files = 1};
  CHECK(diagnose(seen).empty());
}

TEST_CASE("A directory that cannot be written to is told by its cause") {
  for (const auto& [access, first] :
       {std::pair(DirectoryAccess::denied, "chmod"), std::pair(DirectoryAccess::others, "ls"),
        std::pair(DirectoryAccess::read_only_disk, "findmnt"),
        std::pair(DirectoryAccess::not_a_directory, "mv")}) {
    DirectoryView seen = view();
    seen.folder_access = access;
    const Diagnosis found = only(seen);
    CHECK(found.kind().code == "folder-unwritable");
    CHECK(found.mend.front().front() == first);
  }
}

TEST_CASE("Commands name the directory unless one stands there") {
  DirectoryView seen = view({asked()});
  CHECK(only(seen).mend == std::vector<Words>{{"treaty", "bridge", "answer"}});
  seen.directory = "a b";
  CHECK(only(seen).mend == std::vector<Words>{{"treaty", "bridge", "answer", "--dir", "a b"}});
}

TEST_CASE("A request waits within its time, and is overdue after it") {
  DirectoryView seen = view({asked()});
  CHECK(codes(seen) == Codes{"request-waiting"});
  seen.now += 120;
  CHECK(codes(seen) == Codes{"request-overdue"});
  seen.lock.state = LockState::held;
  CHECK(codes(seen) == Codes{"request-waiting", "driver-at-work"});
  CHECK(diagnose(seen).front().mend.empty());
}

TEST_CASE("An answer is told by what it is") {
  const std::string whole = encode(response());
  CHECK(codes(view({with_answer(asked(), whole)})) == Codes{"answer-ready"});
  CHECK(codes(view({with_answer(asked(), "\xEF\xBB\xBF" + whole)})) ==
        Codes{"answer-byte-order-mark"});
  CHECK(codes(view({with_answer(asked(), encode(response(kOtherId)))})) == Codes{"answer-foreign"});
  CHECK(codes(view({with_answer(asked(), R"({"findings": []})")})) == Codes{"answer-bare"});
  CHECK(codes(view({with_answer(asked(), "# Fine\n")})) == Codes{"answer-bare"});
  CHECK(codes(view({with_answer(asked(), "[1, 2]")})) == Codes{"answer-bare"});
  CHECK(codes(view({with_answer(asked(), R"({"request_id": "x", "status": "ok"})")})) ==
        Codes{"answer-foreign"});
}

TEST_CASE("A part of an envelope can be repaired and is no bare output") {
  CHECK(codes(view({with_answer(asked(), R"({"response": "Fine."})")})) ==
        Codes{"answer-repairable"});
  CHECK(codes(view({with_answer(asked(), R"({"error_message": "no access"})")})) ==
        Codes{"answer-repairable"});
}

TEST_CASE("An answer that a repair makes stale is stale") {
  BridgeResponse old = response();
  old.created_at = "2026-11-15T10:00:30";

  CHECK(codes(view({with_answer(asked(), encode(old))})) == Codes{"answer-stale"});

  old.created_at = "2026-11-16T10:00:30";
  CHECK(codes(view({with_answer(asked(), encode(old))})) == Codes{"answer-repairable"});
}

TEST_CASE("The answer of another phase is moved where it belongs, if that is free") {
  Exchange first = asked("-phase1", request(kOtherId));
  const Exchange fifth = asked("-phase5");
  first = with_answer(first, encode(response(kId)));

  const auto found = diagnose(view({first, fifth}));

  CHECK(found.front().kind().code == "answer-other-phase");
  CHECK(found.front().mend ==
        std::vector<Words>{{"mv", ".agent-response-phase1.json", ".agent-response-phase5.json"}});
}

TEST_CASE("An answer that lies elsewhere is moved, and takes nothing else's place") {
  DirectoryView seen = view({asked()});
  seen.strays = {{"../.agent-response.json", kId}};
  CHECK(only(seen).mend ==
        std::vector<Words>{{"mv", "../.agent-response.json", ".agent-response.json"}});

  seen.exchanges = {with_answer(asked(), encode(response(kOtherId)))};
  const auto found = diagnose(seen);
  CHECK(found.front().mend ==
        std::vector<Words>{{"mv", ".agent-response.json", ".agent-response.json.old"},
                           {"mv", "../.agent-response.json", ".agent-response.json"}});
}

TEST_CASE("An answer is the program's as soon as it was started after it") {
  DirectoryView seen = view({with_answer(asked(), encode(response()))});
  seen.journal.entries = {entry("answer.written", {{"request_id", kId}})};
  CHECK(codes(seen) == Codes{"answer-ready"});
  CHECK(status_of(seen) == DirectoryStatus::answered);
  seen.journal.entries.push_back(entry("program.started", {{"resume", true}}));
  seen.journal.entries.push_back(entry("run.ended", {{"exit", 0}, {"final", true}}));
  CHECK(diagnose(seen).empty());
  CHECK(status_of(seen) == DirectoryStatus::settled);
}

TEST_CASE("An interrupted run is gone on with by its own command") {
  DirectoryView seen = view({asked()});
  seen.directory = "work";
  seen.journal.entries = {
      entry("run.started", {{"command", std::vector<std::string>{"python3", "a b.py"}}}),
      entry("program.started", {{"resume", false}}), entry("program.exited", {{"code", 42}})};
  const std::vector<Words> again = {
      {"treaty", "bridge", "run", "--dir", "work", "--", "python3", "a b.py"}};

  const auto found = diagnose(seen);

  REQUIRE(found.size() == 2);
  CHECK(found[0].kind().code == "run-interrupted");
  CHECK(found[0].mend == again);
  CHECK(found[1].kind().code == "request-waiting");
  CHECK(found[1].mend == again);
}

TEST_CASE("A run whose beginning is lost cannot be gone on with by a command") {
  DirectoryView seen = view();
  seen.journal.entries = {entry("program.started", {{"resume", false}})};
  CHECK(only(seen).kind().code == "run-interrupted");
  CHECK(only(seen).mend == std::vector<Words>{{"treaty", "bridge", "log"}});
}

TEST_CASE("A run that was stopped says why, in one line") {
  DirectoryView seen = view();
  seen.journal.entries = {entry("run.started", {{"command", std::vector<std::string>{"x"}}}),
                          entry("program.started"), entry("program.exited", {{"code", 42}}),
                          entry("run.ended", {{"exit", 75},
                                              {"final", false},
                                              {"reason", "too_many_resumes"},
                                              {"message", "phase 1 was answered 5 times\nNext"}})};
  CHECK(only(seen).kind().code == "run-asks-too-often");
  CHECK(only(seen).what == "phase 1 was answered 5 times");
  CHECK(status_of(seen) == DirectoryStatus::interrupted);
}

TEST_CASE("Times are told in the unit that fits") {
  CHECK(duration_text(-5) == "0 s");
  CHECK(duration_text(119.9) == "119 s");
  CHECK(duration_text(120) == "2 min");
  CHECK(duration_text(3 * 3600) == "3 h");
  CHECK(duration_text(49 * 3600) == "2 d");
}

// Any journal, any states of files: nothing may be taken for granted.
DirectoryView arbitrary_view() {
  using rc::gen::element;
  using rc::gen::inRange;
  const auto text = *element<std::string>("", "{", "{}", "x", encode(response()),
                                          encode(response(kOtherId)), "[]", "\xEF\xBB\xBF{}");
  DirectoryView seen = view();
  seen.now = *inRange(0, 2'000'000'000);
  for (int number = 0; number < *inRange(0, 4); ++number) {
    Exchange exchange = asked(suffix_of_phase(number), request(*element(kId, kOtherId)));
    if (*rc::gen::arbitrary<bool>()) exchange = with_answer(exchange, text);
    exchange.request.state = *element(FileState::absent, FileState::unreadable, FileState::torn,
                                      FileState::broken, FileState::whole);
    if (exchange.request.state != FileState::whole) exchange.request.document.reset();
    exchange.answer = judge(exchange.request, exchange.response);
    seen.exchanges.push_back(exchange);
  }
  for (int number = 0; number < *inRange(0, 8); ++number) {
    seen.journal.entries.push_back(
        entry(*element<std::string>("run.started", "run.continued", "run.ended", "program.started",
                                    "program.exited", "answer.written", "request.asked", "other"),
              *element(json::ObjectText{}, json::ObjectText{{"request_id", kId}},
                       json::ObjectText{{"code", 42}},
                       json::ObjectText{{"reason", "no_request"}, {"final", true}},
                       json::ObjectText{{"command", std::vector<std::string>{"x"}}},
                       json::ObjectText{{"reason", "same_request"}})));
  }
  seen.lock.state = *element(LockState::free, LockState::dead, LockState::held);
  if (*rc::gen::arbitrary<bool>()) seen.strays = {{"answer.json", kId}};
  return seen;
}

TEST_CASE("Every view has a diagnosis that says what, why and how, troubles first") {
  CHECK(rc::check([] {
    const DirectoryView seen = arbitrary_view();
    const auto found = diagnose(seen);

    RC_ASSERT(std::ranges::is_sorted(found, {}, [](const Diagnosis& diagnosis) {
      return diagnosis.kind().severity == Severity::note;
    }));
    for (const Diagnosis& diagnosis : found) {
      RC_ASSERT(!diagnosis.what.empty());
      RC_ASSERT(!diagnosis.why.empty());
      for (const Words& words : diagnosis.mend) RC_ASSERT(!words.empty());
    }
    RC_ASSERT(!text_of(status_of(seen), seen).empty());
  }));
}

}  // namespace
