#include "treaty/contracts/bridge_response.h"

#include <fmt/format.h>

#include <optional>

#include "treaty/base/json_write.h"
#include "treaty/base/text.h"
#include "treaty/contracts/bridge_envelope.h"
#include "treaty/contracts/bridge_outcome.h"
#include "treaty/contracts/inspection/edits.h"

namespace treaty::contracts {
namespace {

constexpr const char* kWriteEnvelope =
    "`treaty bridge respond` writes the envelope; a failure with --status error --error MESSAGE";

BridgeResponse wrap_bare_output(Inspection& inspection, const EnvelopeMembers& members) {
  const Place& root = members.object();
  const DecodeOptions& options = inspection.options();
  BridgeResponse response{.request_id = options.request_id.value_or(std::string(kNobody)),
                          .outcome = BridgeSuccess{json::minified(root.value)},
                          .created_at = options.now,
                          .metadata = {{kAutoWrapped, true}}};
  if (members.unknown().empty()) {
    inspection.refuse("BRS-14", root, "this has neither an envelope nor an output of an agent",
                      kWriteEnvelope);
    return response;
  }
  if (const std::string report = failure_report_in(root.value); !report.empty()) {
    inspection.refuse("BRS-14", root,
                      fmt::format("this has no envelope, and {} may be the agent's output or a "
                                  "report of its failure",
                                  report),
                      kWriteEnvelope);
    return response;
  }
  if (const std::string envelope = envelope_in(root.value); !envelope.empty()) {
    inspection.refuse(
        "BRS-14", root,
        fmt::format("{} is a whole envelope, and other members are beside it", envelope),
        "write that object alone");
    return response;
  }
  if (options.profile == Profile::mending && !options.request_id) {
    inspection.refuse("BRS-14", root,
                      "this is an agent's bare output, and only the request has the request_id of "
                      "its envelope",
                      "pass the request: --request FILE");
    return response;
  }
  inspection.set_kind("success");
  inspection.repair("BRS-14", root, "this is an agent's bare output, without the envelope",
                    options.request_id
                        ? "`treaty bridge respond` writes the envelope around it"
                        : "`treaty bridge respond` writes the envelope around it; pass the request "
                          "(--request FILE), which has the request_id",
                    {replacement_of(root, std::string(trimmed(encode(response))))});
  return response;
}

// A part of an envelope, and nothing else.
bool is_part(Inspection& inspection, const Place& place) {
  if (!place.value.is_object()) return false;
  const EnvelopeMembers members(inspection, place);
  return members.unknown().empty() && extent_of(members) == Extent::part;
}

// The only member of an object, when that is an envelope, or under a name of its own a part of one.
std::optional<Place> find_wrapped(Inspection& inspection, const Place& root) {
  const auto members = root.value.members();
  auto next = members.begin();
  if (next == members.end()) return std::nullopt;
  const json::Member member = *next;
  if (++next != members.end()) return std::nullopt;
  const Place inner{.value = member.value, .parent = &root, .name = member.name.text()};
  if (is_envelope(inner.value)) return inner;
  const EnvelopeMembers outer(inspection, root);
  const bool has_own_name = !outer.unknown().empty() && extent_of(outer) == Extent::bare;
  return has_own_name && is_part(inspection, inner) ? std::optional(inner) : std::nullopt;
}

BridgeResponse inspect_bridge_response(Inspection& inspection, const Place& root) {
  if (const auto wrapped = find_wrapped(inspection, root)) {
    const bool is_read = inspection.repair(
        "BRS-14", root,
        fmt::format("the envelope is wrapped in another object, as {}", wrapped->name),
        "write the inner object alone",
        {replacement_of(root, std::string(wrapped->value.source()))});
    if (!is_read) return {};
    const EnvelopeMembers members(inspection, *wrapped);
    return read_envelope(inspection, members, extent_of(members));
  }
  const EnvelopeMembers members(inspection, root);
  const Extent extent = extent_of(members);
  if (extent == Extent::bare) return wrap_bare_output(inspection, members);
  return read_envelope(inspection, members, extent);
}

void write_outcome(json::Writer& writer, std::string_view status,
                   const std::optional<std::string>& text,
                   const std::optional<std::string>& message,
                   const std::optional<std::string>& type) {
  writer.member("status", status).member_or_null("response", text);
  writer.member_or_null("error_message", message).member_or_null("error_type", type);
}

void write(json::Writer& writer, const BridgeSuccess& success) {
  write_outcome(writer, "success", success.response, std::nullopt, std::nullopt);
}

void write(json::Writer& writer, const BridgeError& error) {
  write_outcome(writer, "error", error.response, error.error_message, error.error_type);
}

void write(json::Writer& writer, const BridgeTimeout& timeout) {
  write_outcome(writer, kTimeout, timeout.response, timeout.error_message, std::string(kTimeout));
}

}  // namespace

Decoded<BridgeResponse> decode_bridge_response(std::string_view bytes,
                                               const DecodeOptions& options) {
  return decode_by<BridgeResponse>(inspect_bridge_response, bytes, options, json::NameCase::exact,
                                   kEnvelopeNames);
}

bool is_bare_output(std::string_view bytes) {
  const DecodeOptions options;
  Inspection inspection(bytes, options, json::NameCase::exact, kEnvelopeNames);
  const Place* root = inspection.root();
  return root != nullptr && root->value.is_object() && !find_wrapped(inspection, *root) &&
         extent_of(EnvelopeMembers(inspection, *root)) == Extent::bare;
}

bool is_same_request_id(std::string_view one, std::string_view other) {
  return one == other || (is_uuid(one) && is_uuid(other) && equal_folded(one, other));
}

std::string encode(const BridgeResponse& response) {
  json::Writer writer(json::Layout::indented);
  writer.begin_object();
  writer.member("request_id", response.request_id);
  writer.member("version", response.version);
  std::visit([&](const auto& outcome) { write(writer, outcome); }, response.outcome);
  writer.member("created_at", response.created_at);
  writer.member("duration_seconds", response.duration_seconds);
  json::write(writer.name("metadata"), response.metadata);
  return writer.end_object().take() + "\n";
}

}  // namespace treaty::contracts
