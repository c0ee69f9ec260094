// RateLimit and RateLimit-Policy of an answer (draft-ietf-httpapi-ratelimit-headers, structured
// fields of RFC 9651): what kept a client from being served. Pure.
#pragma once

#include <span>
#include <string>

#include "treaty/dispatch/dispatched.h"
#include "treaty/http/message.h"

namespace treaty::api {

// `"requests_per_minute";r=0;t=30, …`: what is left, and the seconds until it is full again. At
// most eight limits, each name once.
std::string rate_limit_field(std::span<const dispatch::LimitLine> limits);

// `"requests_per_minute";q=60;w=60, …`: those whose quota is known.
std::string rate_limit_policy_field(std::span<const dispatch::LimitLine> limits);

// Both, where they have something to say.
void add_limit_headers(http::Response& response, std::span<const dispatch::LimitLine> limits);

}  // namespace treaty::api
