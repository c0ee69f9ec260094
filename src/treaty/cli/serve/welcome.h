// What `treaty serve` prints when it is ready: where it is, who answers, what to type next.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "treaty/config/configuration.h"

namespace treaty::cli::serve {

// "http://127.0.0.1:8088": an address that a client on this machine can call, also when it listens
// on all of them.
std::string url_of(const config::Listen& listen, std::uint16_t port);

// For people. `session` is a SessionId that nobody has used, for the lines to try; `program` is how
// this one is called.
std::string welcome(const config::Configuration& configuration, std::uint16_t port,
                    std::string_view session, std::string_view program = "treaty");

// One line of JSON for programs.
std::string ready_line(const config::Configuration& configuration, std::uint16_t port, int pid);

}  // namespace treaty::cli::serve
