// Where a call of a provider goes and what its request carries: address, key, headers.
#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "treaty/backends/call.h"
#include "treaty/backends/providers/provider.h"
#include "treaty/base/error.h"
#include "treaty/base/headers.h"
#include "treaty/http/url.h"

namespace treaty::backends {

// The value of an environment variable; nothing when it is not set.
using Environment = std::function<std::optional<std::string>(std::string_view variable)>;

std::optional<std::string> process_environment(std::string_view variable);

// What was given explicitly, else the first variable that is set, else the provider's own. Empty
// when there is none of them.
std::string base_url_of(const Provider& provider, std::string_view given,
                        const Environment& environment);

// The first variable that is set, without white space around it; else empty.
std::string key_of(const Provider& provider, const Environment& environment);

// Base URL, path and both their queries.
std::expected<http::Url, Error> address_of(const Provider& provider, std::string_view base_url,
                                           const Protocol& protocol, const Call& call);

Headers headers_of(const Provider& provider, const Protocol& protocol, std::string_view key,
                   const Call& call);

}  // namespace treaty::backends
