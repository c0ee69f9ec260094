// An AgentResult as a response file and back, without loss in either direction. Pure.
//
// The envelope has a text, a status, an error message and an error type. Everything else of the
// result is in `metadata.agent_result`, and who answered stands at the top of `metadata`, for
// people. Everything of the envelope that an AgentResult has no place for is in its
// `metadata.bridge`.
#pragma once

#include <string>

#include "treaty/contracts/agent_result.h"
#include "treaty/contracts/bridge_response.h"

namespace treaty::bridge {

// What a response tells besides the result.
struct Envelope {
  std::string request_id;
  std::string created_at;  // RFC 3339.
  double duration_seconds = 0;
};

// Who answered; what is empty is not told. A model that the result names itself wins, and the
// provider of the result stands in for a backend that is not named.
struct AnsweredBy {
  std::string agent{};
  std::string backend{};
  std::string model{};
};

// A result that was read from the answer to this very request, and not changed since, gives that
// answer again: it was not us who answered.
contracts::BridgeResponse response_of(const contracts::AgentResult& result,
                                      const Envelope& envelope, const AnsweredBy& answered_by);

// Where envelope and `metadata.agent_result` disagree, somebody has edited the file: the envelope
// wins.
contracts::AgentResult result_of(const contracts::BridgeResponse& response);

}  // namespace treaty::bridge
