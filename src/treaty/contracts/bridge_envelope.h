// The nine members of a bridge response, found and read: for the decoder in bridge_response.cpp.
#pragma once

#include <string_view>

#include "treaty/contracts/bridge_response.h"
#include "treaty/contracts/inspection/inspection.h"

namespace treaty::contracts {

inline constexpr std::string_view kEnvelopeNames[] = {
    "request_id", "version",    "status",           "response", "error_message",
    "error_type", "created_at", "duration_seconds", "metadata",
};
using EnvelopeMembers = KnownMembers<kEnvelopeNames>;

inline constexpr std::string_view kAutoWrapped = "auto_wrapped";  // In metadata (BRS-06, BRS-14).
inline constexpr std::string_view kTimeout = "timeout";           // A status and an error_type.
inline constexpr std::string_view kNobody = "00000000-0000-0000-0000-000000000000";

// How much of the envelope there is.
enum class Extent {
  envelope,  // A request_id or a status.
  part,      // Neither, but a response or an error in the words of the envelope (BRS-14).
  bare,      // Nothing: an agent's own output (BRS-14).
};

Extent extent_of(const EnvelopeMembers& members);

// Of an envelope, or of a part of one. What is missing or written otherwise and can mean one thing
// only is a repair of the mending profile; in a part, of which BRS-14 says so, of the lenient one,
// too.
BridgeResponse read_envelope(Inspection& inspection, const EnvelopeMembers& members, Extent extent);

}  // namespace treaty::contracts
