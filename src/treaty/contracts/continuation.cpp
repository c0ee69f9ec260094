#include "treaty/contracts/continuation.h"

#include <fmt/format.h>

#include "treaty/base/json.h"
#include "treaty/base/text.h"
#include "treaty/contracts/agent_execute_request.h"
#include "treaty/contracts/agent_execute_response.h"
#include "treaty/contracts/inspection/inspection.h"
#include "treaty/contracts/invoke_result.h"

namespace treaty::contracts {
namespace {

std::optional<json::Member> find_folded(json::Value object, std::string_view name) {
  if (!object.is_object()) return std::nullopt;
  for (const json::Member member : object.members()) {
    if (equal_folded(member.name.text(), name)) return member;
  }
  return std::nullopt;
}

std::string text_of(json::Value object, std::string_view name) {
  const auto member = find_folded(object, name);
  return member && member->value.is_string() ? std::string(member->value.text()) : std::string();
}

// The ids of a list of calls or results, as far as they can be read: the differences are told even
// when an entry breaks a rule of its own.
std::vector<std::string> ids_in(json::Value object, std::string_view list) {
  std::vector<std::string> ids;
  const auto member = find_folded(object, list);
  if (!member || !member->value.is_array()) return ids;
  for (const json::Value entry : member->value.elements()) {
    ids.push_back(text_of(entry, "ToolCallId"));
  }
  return ids;
}

// The response itself, or the Result of an InvokeResult, which a failed one does not have.
std::optional<json::Value> response_in(json::Value root) {
  if (!find_folded(root, "Successful")) return root;
  const auto result = find_folded(root, "Result");
  if (result && result->value.is_object()) return result->value;
  return std::nullopt;
}

void add_finding(Verdict& verdict, RuleId rule, json::Value request, std::string_view name,
                 std::string message, std::string hint) {
  const auto member = find_folded(request, name);
  Finding finding{.rule = rule,
                  .where = "/" + (member ? std::string(member->name.text())
                                         : spelled(name, spelling_of(request))),
                  .message = std::move(message),
                  .hint = std::move(hint),
                  .offset = member ? member->value.begin() : request.begin()};
  finding.length = member ? member->value.end() - member->value.begin() : 1;
  verdict.violations.push_back(std::move(finding));
}

// TOOL-13: the turn exists in that session and waits for tools.
void check_turn(Verdict& verdict, json::Value response, json::Value request) {
  for (const std::string_view name : {"SessionId", "TurnId"}) {
    const std::string expected = text_of(response, name);
    const std::string got = text_of(request, name);
    if (expected == got || got.empty()) continue;
    add_finding(verdict, "TOOL-13", request, name,
                fmt::format("\"{}\" is not the {} that waits, \"{}\"", got, name, expected),
                fmt::format("send back the {} of the response", name));
  }
}

std::string_view sentence_for(RuleId rule) {
  if (rule == "TOOL-10") return "the submission has another number of results than there are calls";
  if (rule == "TOOL-11") return "the submission answers other calls than those that wait";
  return "the results are not in the order of the calls";
}

// TOOL-10 to TOOL-12.
void check_results(ContinuationVerdict& verdict, json::Value response, json::Value request) {
  Matching matching =
      match_tool_results(ids_in(response, "ToolCalls"), ids_in(request, "ToolResults"));
  for (const RuleId rule : matching.broken) {
    add_finding(verdict.submitted, rule, request, "ToolResults",
                fmt::format("{}: {}", sentence_for(rule), matching.first_difference),
                "answer every call exactly once, in the order of the calls");
  }
  verdict.differences = std::move(matching.differences);
}

}  // namespace

ContinuationVerdict check_continuation(std::string_view pending, std::string_view submitted,
                                       const DecodeOptions& options) {
  const json::ReadOptions reading{.max_size = options.max_size, .names = json::NameCase::folded};
  const json::Document pending_document(pending, reading);
  const json::Document submitted_document(submitted, reading);
  const auto root = pending_document.root();
  const auto request = submitted_document.root();
  const bool wrapped = root && find_folded(*root, "Successful").has_value();
  ContinuationVerdict verdict{
      .pending = wrapped ? decode_invoke_result(pending, options).verdict()
                         : decode_agent_execute_response(pending, options).verdict(),
      .submitted = decode_agent_execute_request(submitted, options).verdict()};
  if (!root || !root->is_object() || !request || !request->is_object()) return verdict;

  const auto response = response_in(*root);
  if (!response || text_of(*response, "Kind") != "client_tool_continuation") {
    add_finding(verdict.submitted, "TOOL-13", *request, "TurnId", "no turn waits for tools",
                "only a client_tool_continuation is answered by ToolResults");
  }
  if (response) {
    check_turn(verdict.submitted, *response, *request);
    check_results(verdict, *response, *request);
  }
  put_in_order(verdict.submitted.violations, submitted);
  return verdict;
}

}  // namespace treaty::contracts
