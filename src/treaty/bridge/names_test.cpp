#include "treaty/bridge/names.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <array>

#include "treaty/testing/generators.h"

using namespace treaty;
using namespace treaty::bridge;

TEST_CASE("a request and its answer share their suffix") {
  CHECK(suffix_of_request(".agent-request.json") == "");
  CHECK(suffix_of_request(".agent-request-phase3.json") == "-phase3");
  CHECK(suffix_of_response(".agent-response.json") == "");
  CHECK(suffix_of_response(".agent-response-phase12.json") == "-phase12");
  CHECK(request_name("") == ".agent-request.json");
  CHECK(response_name("-phase3") == ".agent-response-phase3.json");
}

TEST_CASE("no other name is taken for a file of the bridge") {
  constexpr std::array kOthers = {"",
                                  ".agent-request",
                                  ".agent-requestjson",
                                  ".agent-request.json ",
                                  ".agent-request.json.treaty-a1b2c3",
                                  ".agent-request-phase.json",
                                  ".agent-request-phase-1.json",
                                  ".agent-request-phase+1.json",
                                  ".agent-request-phase1a.json",
                                  ".agent-request-phase 1.json",
                                  ".agent-request-phase1000000000.json",
                                  ".agent-request-Phase1.json",
                                  ".agent-request-review.json",
                                  "agent-request.json",
                                  "x.agent-request.json"};
  for (const std::string name : kOthers) {
    CAPTURE(name);
    CHECK(!suffix_of_request(name));
    CHECK(!suffix_of_response(name));
  }
  CHECK(!suffix_of_request(".agent-response.json"));
  CHECK(!suffix_of_response(".agent-request.json"));
}

TEST_CASE("every phase that has a file of its own is found in its name again") {
  CHECK(rc::check([] {
    const auto phase = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000);
    const std::string suffix = suffix_of_phase(phase);

    RC_ASSERT(phase_of_suffix(suffix) == phase);
    RC_ASSERT(suffix_of_request(request_name(suffix)) == suffix);
    RC_ASSERT(suffix_of_response(response_name(suffix)) == suffix);
  }));
}

TEST_CASE("whatever the name, what has a suffix is named by it") {
  CHECK(rc::check([] {
    const std::string name = ".agent-request" + *testing::any_text() + ".json";
    if (const auto suffix = suffix_of_request(name)) RC_ASSERT(request_name(*suffix) == name);
  }));
}

TEST_CASE("numbers that no phase can have are none") {
  CHECK(!phase_of_suffix(""));
  CHECK(!phase_of_suffix("-phase"));
  CHECK(!phase_of_suffix(suffix_of_phase(-1)));
  CHECK(!phase_of_suffix(suffix_of_phase(INT64_MAX)));
  CHECK(phase_of_suffix("-phase007") == 7);
}

TEST_CASE("relative names are seen from the directory, absolute ones from nowhere") {
  CHECK(path_in("/work", "a.json") == "/work/a.json");
  CHECK(path_in("/work/", "./a.json") == "/work/a.json");
  CHECK(path_in("/work", "sub/a.json") == "/work/sub/a.json");
  CHECK(path_in("/work", "/other/a.json") == "/other/a.json");
  CHECK(path_in("/work/./", "x//./a.json") == "/work/x/a.json");
  CHECK(path_in("", "a.json") == "a.json");
  CHECK(path_in(".", "a.json") == "a.json");
}

TEST_CASE("a way up stays in a name, since behind a link it leads elsewhere") {
  CHECK(path_in("/work", "../a.json") == "/work/../a.json");
  CHECK(path_in("/work", "/x/link/../a.json") == "/x/link/../a.json");
  CHECK(path_in("/work", "sub/") == "/work/sub/");
}

TEST_CASE("what treaty keeps lies in a folder of its own") {
  CHECK(lock_path("/work") == "/work/.treaty-bridge/lock");
  CHECK(journal_path("/work") == "/work/.treaty-bridge/journal.ndjson");
  CHECK(quarantine_path("/work") == "/work/.treaty-bridge/quarantine");
}
