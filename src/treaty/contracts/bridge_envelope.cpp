#include "treaty/contracts/bridge_envelope.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "treaty/base/json_write.h"
#include "treaty/base/pieces.h"
#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"
#include "treaty/contracts/bridge_outcome.h"
#include "treaty/contracts/inspection/edits.h"

namespace treaty::contracts {
namespace {

std::string quote(std::string_view text) {
  std::string out;
  json::append_quoted(out, text);
  return out;
}

// The `result` that is written for a missing `response`.
const Place* result_in(const EnvelopeMembers& members) {
  const auto found = std::ranges::find(members.unknown(), "result", &Place::name);
  return members["response"] != nullptr || found == members.unknown().end() ? nullptr : &*found;
}

// Empty when it is no string.
std::string_view status_in(const EnvelopeMembers& members) {
  const Place* place = members["status"];
  return place != nullptr && place->value.is_string() ? place->value.text() : "";
}

// What to write for a member that is missing. Null is allowed for three of the nine, and there the
// status decides (BRS-07, BRS-08).
std::string hint_for_missing(std::string_view name, std::string_view status) {
  const bool is_success = status == "success";
  const bool is_failure = status == "error" || status == kTimeout;
  if (name == "response") {
    if (is_success) return "write the answer as a string; an empty answer is \"\"";
    return is_failure ? "write null" : "write the answer as a string, or null after a failure";
  }
  if (name == "error_message") {
    if (is_success) return "write null";
    return is_failure ? "say what went wrong, as a string"
                      : "write null, or after a failure what went wrong";
  }
  if (name == "error_type") {
    return is_failure ? "write the kind of error as a string, or null" : "write null";
  }
  if (name == "request_id") return "copy it from the request file";
  if (name == "version") return "write \"1.0\", as a string";
  if (name == "status") return "write \"success\", \"error\" or \"timeout\"";
  if (name == "created_at") return "write the time with its zone, such as 2025-11-24T14:22:45Z";
  if (name == "duration_seconds") return "write a number; 0 if the time was not measured";
  return "write an object; {} if there is nothing to add";  // metadata
}

class EnvelopeReading {
 public:
  EnvelopeReading(Inspection& inspection, const EnvelopeMembers& members, Extent extent)
      : inspection_(inspection),
        members_(members),
        is_part_(extent == Extent::part),
        completes_(is_part_ || inspection.options().profile == Profile::mending),
        result_(completes_ ? result_in(members) : nullptr),
        text_(result_ != nullptr ? result_ : members["response"]) {}

  BridgeResponse read() {
    read_extra_members();
    if (const Place* metadata = members_["metadata"];
        metadata != nullptr && metadata->value.is_object()) {
      response_.metadata = json::ObjectText::of(metadata->value);
    }
    read_request_id();
    read_version();
    read_outcome();
    read_created_at();
    read_duration();
    read_metadata();
    if (is_part_) report_part();
    return std::move(response_);
  }

 private:
  const DecodeOptions& options() const { return inspection_.options(); }

  // A member that is not there, and the one value that it can have, if there is one.
  void supply(std::string_view name, const std::optional<std::string>& json,
              std::string_view why = {}) {
    if (completes_ && json) {
      std::vector<Edit> edits = {insertion_into(members_.object(), name, *json)};
      if (is_part_) {
        missing_.push_back(name);
        std::ranges::move(edits, std::back_inserter(insertions_));
      } else {
        inspection_.repair_missing("BRS-01", members_.object(), name, {}, {}, std::move(edits));
      }
      return;
    }
    std::string message = completes_ ? fmt::format("{} is missing, {}", name, why) : "";
    if (is_part_) {
      refuse_part(std::move(message));
    } else {
      inspection_.refuse_missing("BRS-01", members_.object(), name, std::move(message),
                                 hint_for_missing(name, status_in(members_)));
    }
  }

  // Something that is written in another way and can mean only this.
  bool mend(RuleId rule, const Place& place, std::string message, std::string hint,
            std::vector<Edit> edits) {
    if (completes_) {
      return inspection_.repair(rule, place, std::move(message), std::move(hint), std::move(edits));
    }
    inspection_.refuse(rule, place, std::move(message), std::move(hint));
    return false;
  }

  // BRS-02.
  void read_extra_members() {
    for (const Place& extra : members_.unknown()) {
      std::string message = fmt::format("the envelope has no member {}", extra.name);
      if (&extra == result_) {
        inspection_.repair("BRS-02", extra, std::move(message), "the name is response",
                           {renaming_of(extra, "response")});
        continue;
      }
      if (is_part_) refuse_part(message);
      inspection_.refuse("BRS-02", extra, std::move(message),
                         extra.name == "result" ? "the name is response"
                                                : "what else there is to say belongs in metadata");
    }
  }

  // BRS-03, BRS-12.
  void read_request_id() {
    const Place* place = members_["request_id"];
    const auto& expected = options().request_id;
    if (place == nullptr) {
      std::optional<std::string> id = expected;
      if (is_part_ && !id) id = kNobody;
      response_.request_id = id.value_or("");
      supply("request_id", id ? std::optional(quote(*id)) : std::nullopt,
             "and only the request has it (--request FILE)");
      return;
    }
    if (completes_ && expected && (place->value.is_null() || is_blank_text(place))) {
      mend("BRS-03", *place, "request_id is empty", "copy it from the request file",
           {replacement_of(*place, quote(*expected))});
      response_.request_id = *expected;
      return;
    }
    response_.request_id = inspection_.text("BRS-03", *place);
    const std::string& id = response_.request_id;
    if (id.empty()) return;
    if (!is_uuid(id)) {
      inspection_.warn("BRS-03", *place, "request_id is not a UUID",
                       "copy it from the request file as it stands there");
    }
    if (expected && id != *expected) read_other_id(*place, *expected);
  }

  // BRS-12.
  void read_other_id(const Place& place, const std::string& expected) {
    if (is_same_request_id(response_.request_id, expected)) {
      mend("BRS-12", place,
           fmt::format("request_id differs from that of the request, \"{}\", only in letter case",
                       expected),
           "copy it from the request file as it stands there",
           {replacement_of(place, quote(expected))});
      response_.request_id = expected;
      return;
    }
    inspection_.refuse(
        "BRS-12", place,
        fmt::format("this answers another request; the one at hand is \"{}\"", expected),
        "the answer is stale or foreign: answer the request that waits");
  }

  // BRS-04.
  void read_version() {
    const Place* place = members_["version"];
    response_.version = "1.0";
    if (place == nullptr) {
      supply("version", quote("1.0"));
      return;
    }
    const bool is_string = place->value.is_string();
    std::string version(is_string ? place->value.text() : "");
    if (completes_) {
      if (place->value.is_number()) version = place->value.source();
      if (place->value.is_null() || version == "1") version = "1.0";
    }
    const std::string_view minor =
        version.starts_with("1.") ? std::string_view(version).substr(2) : "";
    const bool is_known =
        !minor.empty() && minor.find_first_not_of("0123456789") == std::string_view::npos;
    if (!is_known) {
      const bool is_other = parse_number<double>(version).has_value();
      inspection_.refuse(
          "BRS-04", *place,
          is_other ? fmt::format("version {} is not read; 1.x is", version) : "version is not 1.0",
          is_other ? "have its writer follow version 1.0 of the contract"
                   : "write \"1.0\", as a string");
    } else if (!is_string || place->value.text() != version) {
      mend("BRS-04", *place,
           is_string ? "version is not 1.0"
                     : fmt::format("version is {}, not a string", a_kind_of(place->value.type())),
           "write \"1.0\", as a string", {replacement_of(*place, quote(version))});
    } else if (version != "1.0") {
      inspection_.warn("BRS-04", *place, fmt::format("version {} is read as 1.0", version));
    }
    response_.version = std::move(version);
  }

  // BRS-05 to BRS-08, BRS-13.
  void read_outcome() {
    bool refused = text_ == nullptr;  // Then BRS-01 says so.
    std::optional<std::string> text;
    if (!refused) text = read_text(refused);
    if (text) check_inner(*text);
    const std::string_view status = read_status();
    if (status == "success") {
      inspection_.set_kind("success");
      response_.outcome = read_success(std::move(text), refused);
    } else if (!status.empty()) {
      response_.outcome = read_failure(status == kTimeout, std::move(text));
    } else if (!is_part_) {
      for (const std::string_view name : {"response", "error_message", "error_type"}) {
        if (!is_there(name)) supply(name, std::nullopt, "and what it is depends on status");
      }
    }
  }

  bool is_there(std::string_view name) const {
    if (name == "response") return text_ != nullptr;
    return (name == "error_message" ? members_["error_message"] : members_["error_type"]) !=
           nullptr;
  }

  // BRS-06. Nothing for null, and for what was refused; `refused` tells them apart.
  std::optional<std::string> read_text(bool& refused) {
    const Place& place = *text_;
    if (place.value.is_null()) return std::nullopt;
    if (place.value.is_string()) return std::string(place.value.text());
    std::string text = json::minified(place.value);
    std::vector<Edit> edits = {replacement_of(place, quote(text))};
    if (const Place* metadata = members_["metadata"];
        metadata != nullptr && metadata->value.is_object()) {
      const auto mark = metadata->value.members().find(kAutoWrapped);
      edits.push_back(mark ? replacement_of({.value = *mark, .parent = metadata}, "true")
                           : insertion_into(*metadata, kAutoWrapped, "true"));
    }
    refused = !inspection_.repair(
        "BRS-06", place, fmt::format("response is {}, not a string", a_kind_of(place.value.type())),
        "encode it: JSON as text, in a JSON string (json.dumps in Python)", std::move(edits));
    if (refused) return std::nullopt;
    response_.metadata.set(kAutoWrapped, true);
    return text;
  }

  // BRS-13.
  void check_inner(const std::string& text) {
    bool asked = options().inner == Inner::json;
    if (options().inner == Inner::automatic) {
      asked = response_.metadata.find_text("content_type").value_or("").contains("json");
    }
    if (asked && !json::is_json(text)) {
      inspection_.refuse("BRS-13", *text_, "the text of response is not JSON",
                         "the envelope is one document, its response another");
    }
  }

  // BRS-05. Empty when it is unknown, which is refused.
  std::string_view read_status() {
    const Place* place = members_["status"];
    if (place == nullptr) {
      const MeantStatus meant = completes_ ? meant_status(members_, text_) : MeantStatus();
      supply("status", meant.status.empty() ? std::nullopt : std::optional(quote(meant.status)),
             meant.why_unclear);
      return meant.status;
    }
    const std::string_view status = place->value.is_string() ? place->value.text() : "";
    if (status == "success" || status == "error" || status == kTimeout) return status;
    constexpr std::size_t kLongestShown = 40;
    std::string message = "there is no such status";
    if (!place->value.is_string()) {
      message = fmt::format("status is {}, not a string", a_kind_of(place->value.type()));
    } else if (status.size() <= kLongestShown) {
      message = fmt::format("there is no status {}", quote(status));
    }
    inspection_.refuse("BRS-05", *place, std::move(message),
                       "\"success\", \"error\" or \"timeout\", exactly");
    return {};
  }

  BridgeSuccess read_success(std::optional<std::string> text, bool refused) {
    if (text_ == nullptr) supply("response", std::nullopt, "and a success has one");
    if (!text && !refused) {
      inspection_.refuse("BRS-07", *text_, "a success has a response", "an empty answer is \"\"");
    }
    read_absent_error("error_message", members_["error_message"]);
    read_absent_error("error_type", members_["error_type"]);
    return {std::move(text).value_or("")};
  }

  // BRS-07.
  void read_absent_error(std::string_view name, const Place* place) {
    if (place == nullptr) {
      supply(name, "null");
    } else if (is_blank_text(place)) {
      mend("BRS-07", *place, fmt::format("a success has no {}", name), "write null",
           {replacement_of(*place, "null")});
    } else if (!place->value.is_null()) {
      inspection_.refuse("BRS-07", *place, fmt::format("a success has no {}", name), "write null");
    }
  }

  // BRS-08. Answers a BridgeTimeout or a BridgeError.
  decltype(BridgeResponse::outcome) read_failure(bool timeout, std::optional<std::string> text) {
    BridgeError failure{.error_message = {}, .response = std::move(text)};
    if (text_ == nullptr) supply("response", "null");
    if (const Place* message = members_["error_message"]) {
      failure.error_message = inspection_.text("BRS-08", *message);
    } else {
      supply("error_message", std::nullopt, "and nothing else says what went wrong");
    }
    if (members_["error_type"] == nullptr) {
      supply("error_type", timeout ? quote(kTimeout) : "null");
      if (timeout) failure.error_type = kTimeout;
    } else {
      failure.error_type = inspection_.optional_text("BRS-08", members_.not_null("error_type"));
    }
    if (failure.response) {
      inspection_.warn("BRS-08", *text_, "a failure comes with a response",
                       "write null, or report a success");
    }
    timeout = timeout || failure.error_type == kTimeout;
    inspection_.set_kind(timeout ? kTimeout : "error");
    if (!timeout) return failure;
    return BridgeTimeout{std::move(failure.error_message), std::move(failure.response)};
  }

  // BRS-09.
  void read_created_at() {
    const Place* place = members_["created_at"];
    if (place == nullptr) {
      response_.created_at = options().now;
      supply("created_at", quote(options().now));
      return;
    }
    if (!inspection_.is_string("BRS-09", place)) return;
    response_.created_at = place->value.text();
    switch (timestamp_form(response_.created_at)) {
      case TimestampForm::rfc3339:
      case TimestampForm::iso8601: return;
      case TimestampForm::naive:
        response_.created_at += "Z";
        inspection_.repair("BRS-09", *place, "created_at has no zone",
                           "add Z for UTC, or an offset such as +02:00",
                           {replacement_of(*place, quote(response_.created_at))});
        return;
      case TimestampForm::none: break;
    }
    inspection_.refuse("BRS-09", *place, "created_at is not a date and time with its zone",
                       "such as 2025-11-24T14:22:45Z");
  }

  // BRS-10.
  void read_duration() {
    const Place* place = members_["duration_seconds"];
    if (place == nullptr) {
      supply("duration_seconds", "0");
      return;
    }
    if (place->value.is_string()) {
      const auto read = parse_number<double>(trimmed(place->value.text()));
      if (read && std::isfinite(*read) && *read >= 0) {
        inspection_.repair("BRS-10", *place, "duration_seconds is a string, not a number",
                           "write it without the quotes",
                           {replacement_of(*place, json::decimal_text(*read))});
        response_.duration_seconds = *read;
        return;
      }
    }
    if (!place->value.is_number()) {
      inspection_.refuse(
          "BRS-10", *place,
          fmt::format("duration_seconds is {}, not a number", a_kind_of(place->value.type())));
    } else if (place->value.number() < 0) {
      inspection_.refuse("BRS-10", *place, "duration_seconds is negative");
    } else {
      response_.duration_seconds = place->value.number();
    }
  }

  // BRS-11. Last, since what was read may have left a mark in the metadata.
  void read_metadata() {
    const Place* place = members_["metadata"];
    if (place == nullptr) {
      supply("metadata", response_.metadata.text());
    } else if (completes_ && place->value.is_null()) {
      mend("BRS-11", *place, "metadata is null, not an object", "write {}",
           {replacement_of(*place, response_.metadata.text())});
    } else {
      inspection_.is_object("BRS-11", place);
    }
  }

  // BRS-14. The first reason is enough.
  void refuse_part(std::string why) {
    if (ambiguity_.empty()) ambiguity_ = std::move(why);
  }

  void report_part() {
    if (!ambiguity_.empty()) {
      inspection_.refuse("BRS-14", members_.object(),
                         fmt::format("this is a part of an envelope: {}", ambiguity_),
                         "`treaty bridge respond` writes the envelope");
      return;
    }
    const bool has_id = options().request_id.has_value();
    if (options().profile == Profile::mending && !has_id) {
      inspection_.refuse("BRS-14", members_.object(),
                         "this is a part of an envelope: request_id is missing, and only the "
                         "request has it",
                         "pass the request: --request FILE");
      return;
    }
    const bool makes_id = !has_id && inspection_.lenient();  // Strict only refuses.
    inspection_.repair(
        "BRS-14", members_.object(),
        fmt::format("this is a part of an envelope, without {}{}", fmt::join(missing_, ", "),
                    makes_id ? fmt::format("; request_id becomes {}", kNobody) : ""),
        has_id ? "`treaty bridge respond` writes the envelope"
               : "`treaty bridge respond` writes the envelope; pass the request (--request FILE), "
                 "which has the request_id",
        std::move(insertions_));
  }

  Inspection& inspection_;
  const EnvelopeMembers& members_;
  bool is_part_;
  bool completes_;       // What has a single reading is repaired.
  const Place* result_;  // Which is read as the response.
  const Place* text_;    // The response.
  BridgeResponse response_{};
  std::vector<std::string_view> missing_{};  // Of a part: what it gets,
  std::vector<Edit> insertions_{};
  std::string ambiguity_{};  // or why it has no single reading.
};

}  // namespace

Extent extent_of(const EnvelopeMembers& members) {
  if (members["request_id"] != nullptr || members["status"] != nullptr) return Extent::envelope;
  if (members["response"] != nullptr || members["error_message"] != nullptr ||
      members["error_type"] != nullptr) {
    return Extent::part;
  }
  // `result` is a name of many outputs; among members of the envelope it is meant as `response`.
  const bool is_result = members.unknown().size() == 1 && members.unknown()[0].name == "result";
  return is_result ? Extent::part : Extent::bare;
}

BridgeResponse read_envelope(Inspection& inspection, const EnvelopeMembers& members,
                             Extent extent) {
  return EnvelopeReading(inspection, members, extent).read();
}

}  // namespace treaty::contracts
