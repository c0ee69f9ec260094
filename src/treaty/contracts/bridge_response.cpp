#include "treaty/contracts/bridge_response.h"

#include <fmt/format.h>

#include <cmath>

#include "treaty/base/json_write.h"
#include "treaty/base/pieces.h"
#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"
#include "treaty/contracts/inspection/edits.h"
#include "treaty/contracts/inspection/inspection.h"

namespace treaty::contracts {
namespace {

constexpr std::string_view kNames[] = {
    "request_id", "version",    "status",           "response", "error_message",
    "error_type", "created_at", "duration_seconds", "metadata",
};
using Members = KnownMembers<kNames>;

constexpr std::string_view kAutoWrapped = "auto_wrapped";
constexpr std::string_view kTimeout = "timeout";

// BRS-03, BRS-12.
std::string inspect_request_id(Inspection& inspection, const Place& place) {
  std::string id = inspection.text("BRS-03", place);
  if (id.empty()) return id;
  if (!is_uuid(id)) {
    inspection.warn("BRS-03", place, "request_id is not a UUID",
                    "copy it from the request file as it stands there");
  }
  const auto& expected = inspection.options().request_id;
  if (expected && id != *expected) {
    inspection.refuse(
        "BRS-12", place,
        fmt::format("this answers another request; the one at hand is \"{}\"", *expected),
        "the answer is stale or foreign: answer the request that waits");
  }
  return id;
}

// BRS-04.
std::string inspect_version(Inspection& inspection, const Place& place) {
  const std::string_view version = place.value.is_string() ? place.value.text() : "";
  if (version == "1.0") return "1.0";
  const std::string_view minor = version.starts_with("1.") ? version.substr(2) : "";
  if (!minor.empty() && minor.find_first_not_of("0123456789") == std::string_view::npos) {
    inspection.warn("BRS-04", place, fmt::format("version {} is read as 1.0", version));
  } else {
    inspection.refuse("BRS-04", place, "version is not 1.0", "write \"1.0\", as a string");
  }
  return std::string(version);
}

std::string quote(std::string_view text) {
  std::string out;
  json::append_quoted(out, text);
  return out;
}

// BRS-06. Nothing for null, and for what was refused; `refused` tells them apart.
std::optional<std::string> inspect_text(Inspection& inspection, const Members& members,
                                        BridgeResponse& response, bool& refused) {
  const Place& place = *members["response"];
  if (place.value.is_null()) return std::nullopt;
  if (place.value.is_string()) return std::string(place.value.text());
  std::string text = json::minified(place.value);
  std::vector<Edit> edits = {replacement_of(place, quote(text))};
  if (const Place* metadata = members["metadata"];
      metadata != nullptr && metadata->value.is_object()) {
    const auto mark = metadata->value.members().find(kAutoWrapped);
    edits.push_back(mark ? replacement_of({.value = *mark, .parent = metadata}, "true")
                         : insertion_into(*metadata, kAutoWrapped, "true"));
  }
  refused = !inspection.repair(
      "BRS-06", place, fmt::format("response is {}, not a string", a_kind_of(place.value.type())),
      "encode it: JSON as text, in a JSON string (json.dumps in Python)", std::move(edits));
  if (refused) return std::nullopt;
  response.metadata.set(kAutoWrapped, true);
  return text;
}

// BRS-13.
void inspect_inner(Inspection& inspection, const Place& place, const BridgeResponse& response,
                   const std::string& text) {
  bool asked = inspection.options().inner == Inner::json;
  if (inspection.options().inner == Inner::automatic) {
    asked = response.metadata.find_text("content_type").value_or("").contains("json");
  }
  if (asked && !json::is_json(text)) {
    inspection.refuse("BRS-13", place, "the text of response is not JSON",
                      "the envelope is one document, its response another");
  }
}

BridgeSuccess inspect_success(Inspection& inspection, const Members& members,
                              std::optional<std::string> text, bool refused) {
  inspection.set_kind("success");
  if (!text && !refused) {
    inspection.refuse("BRS-07", *members["response"], "a success has a response",
                      "an empty answer is \"\"");
  }
  for (const Place* place : {members.not_null("error_message"), members.not_null("error_type")}) {
    if (place == nullptr) continue;
    inspection.refuse("BRS-07", *place, fmt::format("a success has no {}", place->name),
                      "write null");
  }
  return {std::move(text).value_or("")};
}

// Answers a BridgeTimeout or a BridgeError.
decltype(BridgeResponse::outcome) inspect_failure(Inspection& inspection, const Members& members,
                                                  bool timeout, std::optional<std::string> text) {
  BridgeError failure{.error_message = {}, .response = std::move(text)};
  if (const Place* message = members["error_message"]) {
    failure.error_message = inspection.text("BRS-08", *message);
  }
  failure.error_type = inspection.optional_text("BRS-08", members.not_null("error_type"));
  if (failure.response) {
    inspection.warn("BRS-08", *members["response"], "a failure comes with a response",
                    "write null, or report a success");
  }
  timeout = timeout || failure.error_type == kTimeout;
  inspection.set_kind(timeout ? kTimeout : "error");
  if (!timeout) return failure;
  return BridgeTimeout{std::move(failure.error_message), std::move(failure.response)};
}

// BRS-05 to BRS-08, BRS-13.
void inspect_outcome(Inspection& inspection, const Members& members, BridgeResponse& response) {
  bool refused = members["response"] == nullptr;  // Then BRS-01 has told it.
  std::optional<std::string> text;
  if (!refused) text = inspect_text(inspection, members, response, refused);
  if (text) inspect_inner(inspection, *members["response"], response, *text);
  const Place* place = members["status"];
  if (place == nullptr) return;
  const std::string_view status = place->value.is_string() ? place->value.text() : "";
  if (status == "success") {
    response.outcome = inspect_success(inspection, members, std::move(text), refused);
  } else if (status == "error" || status == kTimeout) {
    response.outcome = inspect_failure(inspection, members, status == kTimeout, std::move(text));
  } else {
    inspection.refuse("BRS-05", *place, "there is no such status",
                      "\"success\", \"error\" or \"timeout\", exactly");
  }
}

// BRS-09.
std::string inspect_created_at(Inspection& inspection, const Place& place) {
  if (!inspection.is_string("BRS-09", &place)) return {};
  std::string text(place.value.text());
  switch (timestamp_form(text)) {
    case TimestampForm::rfc3339:
    case TimestampForm::iso8601: return text;
    case TimestampForm::naive: {
      const std::string utc = text + "Z";
      inspection.repair("BRS-09", place, "created_at has no zone",
                        "add Z for UTC, or an offset such as +02:00",
                        {replacement_of(place, quote(utc))});
      return utc;
    }
    case TimestampForm::none: break;
  }
  inspection.refuse("BRS-09", place, "created_at is not a date and time with its zone",
                    "such as 2025-11-24T14:22:45Z");
  return text;
}

// BRS-10.
double inspect_duration(Inspection& inspection, const Place& place) {
  std::optional<double> duration;
  if (place.value.is_number()) duration = place.value.number();
  if (place.value.is_string()) {
    const auto read = parse_number<double>(trimmed(place.value.text()));
    if (read && std::isfinite(*read) && *read >= 0) {
      inspection.repair("BRS-10", place, "duration_seconds is a string, not a number",
                        "write it without the quotes",
                        {replacement_of(place, json::decimal_text(*read))});
      return *read;
    }
  }
  if (!duration) {
    inspection.refuse(
        "BRS-10", place,
        fmt::format("duration_seconds is {}, not a number", a_kind_of(place.value.type())));
  } else if (*duration < 0) {
    inspection.refuse("BRS-10", place, "duration_seconds is negative");
  }
  return duration.value_or(0);
}

BridgeResponse inspect_envelope(Inspection& inspection, const Members& members) {
  BridgeResponse response;
  for (std::size_t field = 0; field < std::size(kNames); ++field) {
    if (members.at(field) == nullptr) {
      inspection.refuse_missing("BRS-01", members.object(), kNames[field], {},
                                "all nine members are always there; null where there is nothing");
    }
  }
  for (const Place& extra : members.unknown()) {
    inspection.refuse("BRS-02", extra, fmt::format("the envelope has no member {}", extra.name),
                      extra.name == "result" ? "the name is response"
                                             : "what else there is to say belongs in metadata");
  }
  if (const Place* metadata = members["metadata"]; inspection.is_object("BRS-11", metadata)) {
    response.metadata = json::ObjectText::of(metadata->value);
  }
  if (const Place* id = members["request_id"]) {
    response.request_id = inspect_request_id(inspection, *id);
  }
  if (const Place* version = members["version"]) {
    response.version = inspect_version(inspection, *version);
  }
  inspect_outcome(inspection, members, response);
  if (const Place* created = members["created_at"]) {
    response.created_at = inspect_created_at(inspection, *created);
  }
  if (const Place* duration = members["duration_seconds"]) {
    response.duration_seconds = inspect_duration(inspection, *duration);
  }
  return response;
}

// BRS-14.
BridgeResponse wrap_bare_output(Inspection& inspection, const Place& root) {
  constexpr std::string_view kNobody = "00000000-0000-0000-0000-000000000000";
  const DecodeOptions& options = inspection.options();
  BridgeResponse response{.request_id = options.request_id.value_or(std::string(kNobody)),
                          .outcome = BridgeSuccess{json::minified(root.value)},
                          .created_at = options.now,
                          .metadata = {{kAutoWrapped, true}}};
  inspection.set_kind("success");
  inspection.repair("BRS-14", root, "this is an agent's bare output, without the envelope",
                    options.request_id
                        ? "`treaty bridge respond` writes the envelope around it"
                        : "`treaty bridge respond` writes the envelope around it; give the request "
                          "along, or nobody knows the request_id",
                    {replacement_of(root, std::string(trimmed(encode(response))))});
  return response;
}

BridgeResponse inspect_bridge_response(Inspection& inspection, const Place& root) {
  const Members members(inspection, root);
  const bool bare = members["request_id"] == nullptr && members["status"] == nullptr;
  return bare ? wrap_bare_output(inspection, root) : inspect_envelope(inspection, members);
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
                                   kNames);
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
