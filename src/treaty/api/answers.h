// Answers as HTTP messages: JSON, refusals, answers to turns, and the findings of a decoder in
// both. Pure.
#pragma once

#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/base/error.h"
#include "treaty/base/try.h"
#include "treaty/contracts/decoded.h"
#include "treaty/dispatch/dispatched.h"
#include "treaty/http/message.h"
#include "treaty/turns/refusals.h"
#include "treaty/turns/turn_log.h"

namespace treaty::api {

http::Response json_response(int status, std::string body);

// Status and headers by its reason (Retry-After, WWW-Authenticate).
http::Response refusal_response(const turns::Refusal& refusal, const turns::Renderer& renderer,
                                contracts::Dialect dialect = contracts::Dialect::pascal);

// The answer to a round, in the format and dialect of the request.
http::Response outcome_response(const turns::Outcome& outcome, const turns::Renderer& renderer,
                                contracts::Dialect dialect);

// The headers RateLimit and RateLimit-Policy of an answer (draft-ietf-httpapi-ratelimit-headers,
// structured fields of RFC 9651): what kept a client from being served.
//
// `"requests_per_minute";r=0;t=30, …`: what is left, and the seconds until it is full again. At
// most eight limits, each name once.
std::string rate_limit_field(std::span<const dispatch::LimitLine> limits);

// `"requests_per_minute";q=60;w=60, …`: those whose quota is known.
std::string rate_limit_policy_field(std::span<const dispatch::LimitLine> limits);

// Both, where they have something to say.
void add_limit_headers(http::Response& response, std::span<const dispatch::LimitLine> limits);

// A document that breaks its contract: the first violation in the message, all of them (at most 50)
// in Details, one a line, `RULE pointer: message`. What a line must not show is left out of it.
turns::Refusal violation_refusal(const contracts::Findings& violations);

// Warnings of a decoder as those of an answer, at most 50.
std::vector<turns::AnswerError> warnings_of(const contracts::Findings& warnings);

// A failure of the store.
turns::Refusal refusal_of(const Error& error);

// What the store has answered, with its failure as a refusal.
template <class T>
std::expected<T, turns::Refusal> stored(std::expected<T, Error> answer) {
  return map_error(std::move(answer), refusal_of);
}

// A parameter or a member with a value that makes no sense.
turns::Refusal wrong_value(std::string message, std::string context);

}  // namespace treaty::api
