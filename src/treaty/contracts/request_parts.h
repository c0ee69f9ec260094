// The parts of an AgentExecuteRequest that have rules of their own: artifacts, images, scope.
#pragma once

#include <string_view>
#include <unordered_set>

#include "treaty/base/json_write.h"
#include "treaty/contracts/agent_execute_request.h"
#include "treaty/contracts/inspection/inspection.h"

namespace treaty::contracts {

// REQ-30 to REQ-36.
InputArtifact inspect_input_artifact(Inspection& inspection, const Place& place);
void write(json::Writer& writer, const InputArtifact& artifact, Dialect dialect);

// REQ-40 to REQ-42. `seen` are the ids of the images before.
ClipboardImage inspect_clipboard_image(Inspection& inspection, const Place& place,
                                       std::unordered_set<std::string_view>& seen);
void write(json::Writer& writer, const ClipboardImage& image, Dialect dialect);

// REQ-50 to REQ-52.
RagScope inspect_rag_scope(Inspection& inspection, const Place& place);
void write(json::Writer& writer, const RagScope& scope, Dialect dialect);

// REQ-15: what no rule knows is told, never refused.
template <std::size_t N>
void warn_of_unknown(Inspection& inspection, const KnownMembers<N>& members) {
  for (const Place& extra : members.unknown()) {
    if (absent_in_request(extra.value)) continue;
    inspection.warn("REQ-15", extra,
                    "the contract has no member " + std::string(extra.name) + "; it is ignored");
  }
}

}  // namespace treaty::contracts
