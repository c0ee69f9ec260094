// How an agent's work ended, where no status says it: a failure is never read as a success. For the
// decoder in bridge_response.cpp. Pure.
#pragma once

#include <string>
#include <string_view>

#include "treaty/contracts/bridge_envelope.h"

namespace treaty::contracts {

bool is_blank_text(const Place* place);

// Whether a member of an agent's own output may report a failure. Null, false and what is empty
// report nothing.
bool may_report_failure(std::string_view name, json::Value value);

// Whether a value is written as an envelope, in whatever it is wrapped.
bool is_envelope(json::Value value);

// The first member of an object that is an envelope; empty when there is none.
std::string envelope_in(json::Value document);

// The first member that may report a failure, by the names that lead to it ("data.status"); empty
// when there is none. Objects in objects are searched; lists are not, since the elements of a list
// (findings, test results) are what the agent was asked for.
std::string failure_report_in(json::Value document);

// The same for the text of a JSON document, which may be fenced and have the faults that
// rewrite_as_json repairs; empty for any other text.
std::string failure_report_in(std::string_view text);

// The status of an envelope that has none.
struct MeantStatus {
  std::string_view status{};       // Empty when there is more than one reading,
  std::string_view why_unclear{};  // and why; continues "status is missing, …".
};

// `text` is the member that is read as the response.
MeantStatus meant_status(const EnvelopeMembers& members, const Place* text);

}  // namespace treaty::contracts
