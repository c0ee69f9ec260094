// Who may come in, and as which tenant. Pure.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>

#include "treaty/base/headers.h"
#include "treaty/turns/refusals.h"

namespace treaty::api {

struct ApiKey {
  std::string tenant;
  std::string sha256;  // Of the key, 64 lower-case hex digits.
};

inline constexpr std::string_view kLocalTenant = "local";

// The tenant whose key the request carries (`Authorization: Bearer KEY` or `X-Api-Key: KEY`);
// `local` when no keys are configured. Takes the same time whichever key it is.
std::expected<std::string, turns::Refusal> tenant_of(const Headers& headers,
                                                     std::span<const ApiKey> keys);

// Without keys whoever reaches the port is let in, and a web page in a browser on this machine does
// reach it: by its own address (Origin), or by a name of its own that it has pointed here (Host).
std::expected<void, turns::Refusal> refuse_web_pages(const Headers& headers);

// `localhost`, a name below it, or a loopback address; with or without a port.
bool is_loopback_host(std::string_view host);

}  // namespace treaty::api
