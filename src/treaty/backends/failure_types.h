// AgentError::type of failures that no provider names: the call failed on this side of the wire.
#pragma once

#include <string_view>

namespace treaty::backends::failure_types {

constexpr std::string_view kMissingKey = "MissingKey";
constexpr std::string_view kBadKey = "BadKey";
constexpr std::string_view kBadAddress = "BadAddress";
constexpr std::string_view kRefused = "ConnectionRefused";
constexpr std::string_view kReset = "ConnectionReset";
constexpr std::string_view kTls = "TlsFailure";
constexpr std::string_view kTooLarge = "AnswerTooLarge";
constexpr std::string_view kMalformed = "MalformedAnswer";
constexpr std::string_view kCancelled = "Cancelled";

// Timeouts of the gateway, as opposed to those that a provider reports.
constexpr std::string_view kTimeout = "Timeout";  // Of the whole call.
constexpr std::string_view kConnectTimeout = "ConnectTimeout";
constexpr std::string_view kFirstTokenTimeout = "FirstTokenTimeout";
constexpr std::string_view kStallTimeout = "StallTimeout";

constexpr bool is_timeout(std::string_view type) {
  return type == kTimeout || type == kConnectTimeout || type == kFirstTokenTimeout ||
         type == kStallTimeout;
}

}  // namespace treaty::backends::failure_types
