#include "treaty/cli/shared/invoke_report.h"

#include <doctest/doctest.h>

#include "treaty/cli/command_line.h"

namespace treaty::cli {
namespace {

using namespace contracts;

Failure failed(std::string code, bool fatal) {
  return {{{.error_code = std::move(code), .message = "It \x1b[2J failed.", .fatal_error = fatal}}};
}

}  // namespace

TEST_CASE("a failure is told with its code, its details and the next step, tamed") {
  Failure failure = failed("contract_violation", true);
  failure.errors[0].details = "REQ-01 /SessionId: blank\nREQ-02 /TurnId: blank";

  CHECK(failure_lines("run", failure) ==
        "treaty run: contract_violation: It ?[2J failed.\n"
        "  REQ-01 /SessionId: blank\n  REQ-02 /TurnId: blank\n");
  CHECK(failure_lines("run", failed("rate_limit", false))
            .ends_with("Next: wait a while, then send it again\n"));
  CHECK(failure_lines("run", failed("anything", false))
            .ends_with("Next: try the same again later\n"));
  CHECK(failure_lines("run", failed("", true)) == "treaty run: error: It ?[2J failed.\n");
}

TEST_CASE("the exit code tells whether to try again, to look at the store or to give up") {
  CHECK(exit_code_of(failed("server_error", false)) == kTryLater);
  CHECK(exit_code_of(failed("store_unavailable", false)) == kUnavailable);
  CHECK(exit_code_of(failed("content_filter", true)) == kViolated);
}

TEST_CASE("warnings and files have a line each, tokens a few words") {
  AgentExecuteResponse response{"s", "t", "General", FinalResponse{"Hi."}};
  CHECK(tokens_text(response).empty());
  auto& last = std::get<FinalResponse>(response.kind);
  last.user_warnings = {"cut\noff"};
  last.files = {{.name = "a.txt",
                 .mime_type = "text/plain",
                 .url = "/f",
                 .size_bytes = 3,
                 .content_hash = ""}};
  last.usage = {.prompt_tokens = 12, .completion_tokens = 3, .total_tokens = 15};
  const InvokeResult result{response, {{.error_code = "w", .message = "mind it"}}};

  CHECK(remark_lines(result) ==
        "warning: mind it\nwarning: cut?off\nfile: a.txt (text/plain, 3 bytes) /f\n");
  CHECK(tokens_text(response) == "12 tokens in, 3 out");
}

TEST_CASE("a call and its result are one line of a screen") {
  CHECK(call_text({"c", "look", "{\"a\":\n1}"}) == "look({\"a\":?1})");
  CHECK(result_text({"c", 5, ResultJson{"{}"}}) == "{}");
  CHECK(result_text({"c", 5, ErrorMessage{"no\tway"}}) == "failed: no way");
  const std::string cut = result_text({"c", 5, ResultJson{std::string(199, 'x') + "ü and more"}});
  CHECK(cut == std::string(199, 'x') + "…");
}

TEST_CASE("a turn that waits is told with its calls, each on a line") {
  const InvokeResult waiting{AgentExecuteResponse{
      "s", "t1", "General",
      ClientToolContinuation{{{"c1", "look", "{\"a\":\n1}"}, {"c2", "go", "{}"}}}}};

  CHECK(waiting_lines("run", encode(waiting)) ==
        "treaty run: turn t1 of session s waits for the results of\n"
        "  look({\"a\":?1})\n  go({})\n");
  CHECK(waiting_lines("run", "<html>").empty());
  CHECK(!is_in_progress(waiting));
  CHECK(is_in_progress(InvokeResult{failed("turn_in_progress", true)}));
}

}  // namespace treaty::cli
