#include "treaty/contracts/bridge_request.h"

#include "treaty/base/json_write.h"
#include "treaty/base/timestamp.h"
#include "treaty/contracts/inspection/fields.h"
#include "treaty/contracts/inspection/inspection.h"

namespace treaty::contracts {
namespace {

enum BridgeRequestField {
  kBridgeRequestRequestId,
  kBridgeRequestVersion,
  kPhase,
  kPhaseName,
  kAgentName,
  kPrompt,
  kTimeoutSeconds,
  kBridgeRequestCreatedAt,
  kBridgeRequestContext,
  kBridgeRequestModel,
  kResponseFile,
  kBridgeRequestFieldCount
};
constexpr std::array<std::string_view, kBridgeRequestFieldCount> kBridgeRequestNames = {
    "request_id",      "version",    "phase",   "phase_name", "agent_name",   "prompt",
    "timeout_seconds", "created_at", "context", "model",      "response_file"};
using BridgeRequestMembers = KnownMembers<kBridgeRequestFieldCount>;

// BRQ-02.
void inspect_optional_members(Inspection& inspection, const BridgeRequestMembers& members,
                              BridgeRequest& request) {
  if (members[kPhase] != nullptr) {
    request.phase = integer_field(inspection, "BRQ-02", *members[kPhase]);
  }
  request.phase_name = optional_text(inspection, "BRQ-02", members[kPhaseName]);
  if (members[kTimeoutSeconds] != nullptr) {
    request.timeout_seconds =
        integer_field(inspection, "BRQ-02", *members[kTimeoutSeconds], 1).value_or(1);
  }
  if (members[kBridgeRequestContext] != nullptr &&
      is_object_field(inspection, "BRQ-02", *members[kBridgeRequestContext])) {
    request.context = json::ObjectText::of(members[kBridgeRequestContext]->value);
  }
  request.model = optional_text(inspection, "BRQ-02", unless_null(members[kBridgeRequestModel]));
  request.response_file = optional_text(inspection, "BRQ-02", members[kResponseFile]);
}

BridgeRequest inspect_bridge_request(Inspection& inspection, const Place& root) {
  const BridgeRequestMembers members(root, kBridgeRequestNames, inspection.name_case());
  const auto text = [&](BridgeRequestField field) {
    return required_text(inspection, "BRQ-01", members[field], root, kBridgeRequestNames[field]);
  };
  BridgeRequest request{.request_id = text(kBridgeRequestRequestId),
                        .version = text(kBridgeRequestVersion),
                        .agent_name = text(kAgentName),
                        .prompt = text(kPrompt),
                        .created_at = text(kBridgeRequestCreatedAt)};
  if (!request.created_at.empty() && timestamp_form(request.created_at) != TimestampForm::rfc3339) {
    inspection.refuse("BRQ-01", *members[kBridgeRequestCreatedAt],
                      "created_at is a date and time with its zone (RFC 3339)",
                      "such as 2025-11-24T14:22:45Z");
  }
  inspect_optional_members(inspection, members, request);
  return request;
}

}  // namespace

Decoded<BridgeRequest> decode_bridge_request(std::string_view bytes, const DecodeOptions& options) {
  return decode_by<BridgeRequest>(inspect_bridge_request, bytes, options, json::NameCase::exact,
                                  kBridgeRequestNames);
}

std::string encode(const BridgeRequest& request) {
  json::Writer writer(json::Layout::indented);
  writer.begin_object();
  writer.member(kBridgeRequestNames[kBridgeRequestRequestId], request.request_id);
  writer.member(kBridgeRequestNames[kBridgeRequestVersion], request.version);
  if (request.phase) writer.member(kBridgeRequestNames[kPhase], *request.phase);
  if (request.phase_name) writer.member(kBridgeRequestNames[kPhaseName], *request.phase_name);
  writer.member(kBridgeRequestNames[kAgentName], request.agent_name);
  writer.member(kBridgeRequestNames[kPrompt], request.prompt);
  writer.member(kBridgeRequestNames[kTimeoutSeconds], request.timeout_seconds);
  writer.member(kBridgeRequestNames[kBridgeRequestCreatedAt], request.created_at);
  json::write(writer.name(kBridgeRequestNames[kBridgeRequestContext]), request.context);
  writer.name(kBridgeRequestNames[kBridgeRequestModel]);
  request.model ? writer.value(*request.model) : writer.null();
  if (request.response_file)
    writer.member(kBridgeRequestNames[kResponseFile], *request.response_file);
  return writer.end_object().take() + "\n";
}

}  // namespace treaty::contracts
