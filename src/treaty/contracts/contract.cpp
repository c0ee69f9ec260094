#include "treaty/contracts/contract.h"

#include <algorithm>
#include <span>

#include "treaty/base/json.h"
#include "treaty/base/text.h"
#include "treaty/contracts/agent_execute_request.h"
#include "treaty/contracts/agent_execute_response.h"
#include "treaty/contracts/assistant_response.h"
#include "treaty/contracts/bridge_request.h"
#include "treaty/contracts/bridge_response.h"
#include "treaty/contracts/decode_agent_result.h"
#include "treaty/contracts/invoke_result.h"
#include "treaty/contracts/rules.h"

namespace treaty::contracts {
namespace {

struct Identity {
  std::string_view name;
  std::string_view title;
};

// In the order of Contract.
constexpr std::array<Identity, kContracts.size()> kIdentities = {{
    {"request", "AgentExecuteRequest (AGN-034)"},
    {"response", "AgentExecuteResponse (AGN-033)"},
    {"invoke-result", "InvokeResult"},
    {"agent-result", "AgentResult"},
    {"bridge-request", "bridge request (.agent-request.json)"},
    {"bridge-response", "bridge response (.agent-response.json)"},
    {"assistant", "Assistant Response v1"},
}};

const Identity& identity_of(Contract contract) {
  return kIdentities[static_cast<std::size_t>(contract)];
}

// Members that tell a document. `weight`: a response also has the ids of a request, so what is its
// own counts for more.
struct ContractMarks {
  Contract contract;
  json::NameCase names;
  int weight;
  std::array<std::string_view, 10> members;
};
constexpr std::array<ContractMarks, 7> kContractMarks = {{
    {Contract::invoke_result,
     json::NameCase::folded,
     1,
     {"Successful", "Errors", "Result", "ResultId", "Warnings"}},
    {Contract::response,
     json::NameCase::folded,
     3,
     {"Kind", "PrimaryOutputText", "ToolCalls", "ToolContinuationMessage"}},
    {Contract::request,
     json::NameCase::folded,
     1,
     {"Instruction", "InputArtifacts", "ClipboardImages", "RagScope", "SolutionContextText",
      "SessionId", "TurnId", "ToolResults"}},
    {Contract::bridge_request,
     json::NameCase::exact,
     1,
     {"prompt", "agent_name", "timeout_seconds", "phase", "phase_name", "response_file"}},
    {Contract::bridge_response,
     json::NameCase::exact,
     1,
     {"status", "response", "error_message", "error_type", "duration_seconds"}},
    {Contract::assistant,
     json::NameCase::exact,
     1,
     {"assistant_message", "action_taken", "next_steps", "confidence_level", "response_version",
      "trace_id"}},
    {Contract::agent_result,
     json::NameCase::exact,
     1,
     {"output", "content", "usage", "cost", "finish_reason", "error", "rate_limit", "provider_data",
      "tool_calls", "rendered_user_prompt"}},
}};

bool tells(const ContractMarks& marks, std::string_view name) {
  return std::ranges::any_of(marks.members, [&](std::string_view member) {
    if (member.empty()) return false;
    return marks.names == json::NameCase::exact ? member == name : equal_folded(member, name);
  });
}

}  // namespace

std::string_view name_of(Contract contract) { return identity_of(contract).name; }
std::string_view title_of(Contract contract) { return identity_of(contract).title; }

std::optional<Contract> contract_named(std::string_view name) {
  const auto found = std::ranges::find(kIdentities, name, &Identity::name);
  if (found == kIdentities.end()) return std::nullopt;
  return static_cast<Contract>(found - kIdentities.begin());
}

std::optional<Contract> detect_contract(std::string_view bytes, std::size_t max_size) {
  const json::Document document(bytes, {.max_size = max_size});
  const auto root = document.root();
  if (!root || !root->is_object()) return std::nullopt;
  std::optional<Contract> best;
  int most = 0;
  for (const ContractMarks& marks : kContractMarks) {
    int count = 0;
    for (const json::Member member : root->members()) {
      if (tells(marks, member.name.text())) count += marks.weight;
    }
    if (count > most) {
      most = count;
      best = marks.contract;
    }
  }
  return best;
}

Verdict check(Contract contract, std::string_view bytes, const DecodeOptions& options) {
  switch (contract) {
    case Contract::request: return decode_agent_execute_request(bytes, options).verdict();
    case Contract::response: return decode_agent_execute_response(bytes, options).verdict();
    case Contract::invoke_result: return decode_invoke_result(bytes, options).verdict();
    case Contract::agent_result: return decode_agent_result(bytes, options).verdict();
    case Contract::bridge_request: return decode_bridge_request(bytes, options).verdict();
    case Contract::bridge_response: return decode_bridge_response(bytes, options).verdict();
    case Contract::assistant: break;
  }
  return decode_assistant_response(bytes, options).verdict();
}

DetectedVerdict check_detected(std::string_view bytes, const DecodeOptions& options) {
  const std::optional<Contract> contract = detect_contract(bytes, options.max_size);
  if (contract) return {contract, check(*contract, bytes, options)};
  Verdict verdict = check(Contract::agent_result, bytes, options);
  std::erase_if(verdict.violations, [](const Finding& finding) {
    return find_rule(finding.rule.text())->contract() != "json";
  });
  verdict.warnings.clear();
  verdict.kind = {};
  return {std::nullopt, std::move(verdict)};
}

}  // namespace treaty::contracts
