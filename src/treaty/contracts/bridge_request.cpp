#include "treaty/contracts/bridge_request.h"

#include <fmt/format.h>

#include "treaty/base/json_write.h"
#include "treaty/base/timestamp.h"
#include "treaty/contracts/inspection/edits.h"
#include "treaty/contracts/inspection/inspection.h"

namespace treaty::contracts {
namespace {

constexpr std::string_view kNames[] = {
    "request_id",      "version",    "phase",   "phase_name", "agent_name",    "prompt",
    "timeout_seconds", "created_at", "context", "model",      "response_file",
};
using Members = KnownMembers<kNames>;

constexpr const char* kContextHint = "write an object, or leave context out";
constexpr const char* kTimeHint = "write the time with its zone, such as 2025-11-24T14:22:45Z";

bool is_mending(const Inspection& inspection) {
  return inspection.options().profile == Profile::mending;
}

// BRQ-01. There is one version, so that a missing one and the number have one reading.
std::string read_version(Inspection& inspection, const Members& members) {
  constexpr const char* kVersion = "1.0";
  constexpr const char* kQuotedVersion = "\"1.0\"";
  constexpr const char* kHint = "write \"1.0\", as a string";
  const Place* place = members["version"];
  if (!is_mending(inspection)) return members.required_text("BRQ-01", "version", kHint);
  if (place == nullptr) {
    inspection.repair_missing("BRQ-01", members.object(), "version", "version is missing", kHint,
                              {insertion_into(members.object(), "version", kQuotedVersion)});
    return kVersion;
  }
  const std::string_view source = place->value.source();
  const bool is_meant = source == kVersion || source == "1" || place->value.is_null();
  if (!is_meant) return inspection.text("BRQ-01", *place, kHint);
  inspection.repair("BRQ-01", *place,
                    fmt::format("version is {}, not a string", a_kind_of(place->value.type())),
                    kHint, {replacement_of(*place, kQuotedVersion)});
  return kVersion;
}

// BRQ-02.
void inspect_optional_members(Inspection& inspection, const Members& members,
                              BridgeRequest& request) {
  request.phase = inspection.integer("BRQ-02", members["phase"]);
  request.phase_name = inspection.optional_text("BRQ-02", members["phase_name"]);
  if (const Place* timeout = members["timeout_seconds"]) {
    request.timeout_seconds = inspection.integer("BRQ-02", timeout, 1).value_or(1);
  }
  const Place* context = members["context"];
  if (context != nullptr && context->value.is_null() && is_mending(inspection)) {
    inspection.repair("BRQ-02", *context, "context is null, not an object", kContextHint,
                      {replacement_of(*context, "{}")});
  } else if (inspection.is_object("BRQ-02", context, kContextHint)) {
    request.context = json::ObjectText::of(context->value);
  }
  request.model = inspection.optional_text("BRQ-02", members.not_null("model"));
  request.response_file = inspection.optional_text("BRQ-02", members["response_file"]);
}

BridgeRequest inspect_bridge_request(Inspection& inspection, const Place& root) {
  const Members members(inspection, root);
  BridgeRequest request{
      .request_id =
          members.required_text("BRQ-01", "request_id", "write a new UUID for each question"),
      .version = read_version(inspection, members),
      .agent_name = members.required_text("BRQ-01", "agent_name", "name the agent to ask"),
      .prompt = members.required_text("BRQ-01", "prompt", "write the question, as a string"),
      .created_at = members.required_text("BRQ-01", "created_at", kTimeHint)};
  if (!request.created_at.empty() && timestamp_form(request.created_at) != TimestampForm::rfc3339) {
    inspection.refuse("BRQ-01", *members["created_at"],
                      "created_at is not a date and time with its zone (RFC 3339)", kTimeHint);
  }
  inspect_optional_members(inspection, members, request);
  return request;
}

}  // namespace

Decoded<BridgeRequest> decode_bridge_request(std::string_view bytes, const DecodeOptions& options) {
  return decode_by<BridgeRequest>(inspect_bridge_request, bytes, options, json::NameCase::exact,
                                  kNames);
}

std::string encode(const BridgeRequest& request) {
  json::Writer writer(json::Layout::indented);
  writer.begin_object();
  writer.member("request_id", request.request_id);
  writer.member("version", request.version);
  if (request.phase) writer.member("phase", *request.phase);
  if (request.phase_name) writer.member("phase_name", *request.phase_name);
  writer.member("agent_name", request.agent_name);
  writer.member("prompt", request.prompt);
  writer.member("timeout_seconds", request.timeout_seconds);
  writer.member("created_at", request.created_at);
  json::write(writer.name("context"), request.context);
  writer.member_or_null("model", request.model);
  if (request.response_file) writer.member("response_file", *request.response_file);
  return writer.end_object().take() + "\n";
}

}  // namespace treaty::contracts
